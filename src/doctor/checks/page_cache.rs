//! What cold runs require.

use crate::doctor::probes::Probes;
use crate::document::doctor::{Check, CheckGroup, Status};

pub(super) fn mount_namespace(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::PageCache, "cold page cache", detail);
    let lost = "`--cache cold` cannot put private copies over the files";
    match (&probes.mount_namespace, &probes.user_namespace) {
        (Ok(()), _) => check("a bind mount in a separate mount namespace"),
        (Err(_), Ok(())) => check("a bind mount in a separate user namespace"),
        (Err(refusal), Err(unprivileged)) => {
            let why = format!("{}; in a user namespace: {}; {lost}", refusal.text, unprivileged.text);
            let by_option = || probes.confinement.of_mount().map(|hindrance| hindrance.help);
            let fix =
                by_option().or_else(|| probes.user_namespace_switch.clone()).or_else(|| by_root(probes));
            check("no mount namespace").hindered(Status::DoesNotWork, why, fix)
        }
    }
}

fn by_root(probes: &Probes) -> Option<String> {
    (!probes.root).then(|| "run firstbyte as root: sudo firstbyte …".to_owned())
}

pub(super) fn cachestat(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::PageCache, "cachestat", detail);
    match &probes.cachestat {
        Ok(()) => check("resident pages are counted"),
        Err(refusal) if refusal.errno == Some(libc::ENOSYS) => check("no such system call").hindered(
            Status::Partly,
            "it exists since Linux 6.5; mincore(2) proves that a file is cold instead",
            None,
        ),
        Err(refusal) => check("refused").hindered(
            Status::Partly,
            format!("{}; mincore(2) proves that a file is cold instead", refusal.text),
            None,
        ),
    }
}
