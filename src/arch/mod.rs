//! What differs between architectures: system-call numbers by meaning, ABIs.
