//! The program `z3950d` as its users and operators see it.
#![cfg(unix)]

mod daemon;
mod help;
mod logs;
mod reload;
mod running;
mod settings;
mod status;
mod transcripts;
