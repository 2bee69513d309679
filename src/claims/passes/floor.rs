//! Figures of the floor, as `firstbyte floor` measures them.

use super::session::Session;
use crate::claims::{Lack, gather};
use crate::document::floor::Group;
use crate::floor::{Effort, Pinned, Survey, ladder, prints};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::own_folder::OwnFolder;

pub(super) fn floor(session: &mut Session) -> Result<(), Lack> {
    let folder = OwnFolder::temporary().map_err(Lack::of)?;
    let (rungs, _) = ladder(folder.path()).map_err(Lack::of)?;
    let pinned = Pinned::to(None).map_err(Lack::of)?;
    let (effort, seed) = (effort(session), session.options.seed);
    let survey = Survey { rungs: &rungs, folder: folder.path(), other: pinned.other, effort, seed };

    for group in session.needs.groups() {
        let part = match group {
            Group::Processes => survey.processes(),
            Group::Shells => survey.shells(&["bash"]),
            _ => survey.syscalls(),
        };
        let part = part.map_err(Lack::of)?;
        gather::floor(&mut session.evidence, session.needs, &part.figures, &part.missing);
        if interrupt::interrupted().is_some() {
            break;
        }
    }
    Ok(())
}

/// First and hundredth prints, as `firstbyte floor --only prints` measures them.
pub(super) fn timed_prints(session: &mut Session) -> Result<(), Lack> {
    let (prints, missing) = prints::measure(effort(session), session.options.seed).map_err(Lack::of)?;
    gather::prints(&mut session.evidence, session.needs, &prints, &missing);
    Ok(())
}

fn effort(session: &Session) -> Effort {
    if session.options.quick { Effort::Quick } else { Effort::Full }
}
