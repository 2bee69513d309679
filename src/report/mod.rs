//! The versioned document and its renderings.
