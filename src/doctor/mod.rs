//! What this machine can and cannot do, why, and the command that mends it.
