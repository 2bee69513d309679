//! One integration binary, a module a subject. Nothing here asserts how long something took.

mod architecture;
mod bench;
mod bpf;
mod check;
mod cli;
mod cold;
mod compare;
mod corpus;
mod diff;
mod doctor;
mod elf;
mod elf_kernels;
mod floor;
mod inspect;
mod lines;
mod ptrace;
mod report;
mod runtime;
mod support;
mod throughput;
mod trace;
mod tracees;
