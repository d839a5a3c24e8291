//! Tests of the program `z3950d` as users and operators run it.
#![cfg(unix)]

mod daemon;
mod help;
mod judge;
mod logs;
#[cfg(target_os = "linux")]
mod memory;
mod reload;
mod running;
mod settings;
mod status;
mod transcripts;
