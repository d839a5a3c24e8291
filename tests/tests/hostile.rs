//! Tests with hostile input: randomly mutated octets, small storms, connections that are cut at any point, and a server that is
//! killed. No program may panic, hang or use more and more memory, and other clients must still be served.

mod gate;
mod octets;
pub(crate) mod odd;
mod partner;
mod server;
mod slow;
mod updates;
mod words;
mod xml;
