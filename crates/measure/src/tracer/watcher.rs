//! The watcher that works here.

use super::choose::ChooseError;
use super::watch::Watcher;

/// Attaches a watcher, whose buffer has `ring` bytes (a power of two, a multiple of the page size). From now on every task of
/// the machine runs its programs, but nothing is watched yet.
///
/// # Errors
///
/// We may not do that, or this kernel cannot.
#[cfg(feature = "bpf")]
pub fn attach_watcher(ring: u32) -> Result<Box<dyn Watcher>, ChooseError> {
    let watcher = super::bpf::BpfWatch::attach(ring).map_err(|error| ChooseError::Bpf(error.to_string()))?;
    Ok(Box::new(watcher))
}

/// This build has none.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "bpf"))]
pub fn attach_watcher(_ring: u32) -> Result<Box<dyn Watcher>, ChooseError> {
    Err(ChooseError::Bpf(super::choose::BUILT_WITHOUT_BPF.to_owned()))
}
