//! The program `z3950d` as its users and operators see it.
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
