//! What several documents of a page say together.

use crate::comparison::machines::ProgramOnMachines;
use crate::document::compare::CompareDocument;

/// Of the documents with measured programs.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// The programs that several of them have.
    pub machines: Vec<ProgramOnMachines>,
    /// The only two with measured programs, the older one first.
    pub compared: Option<CompareDocument>,
}
