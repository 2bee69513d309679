//! The programs of the showdown: manifests, builds, verification.
