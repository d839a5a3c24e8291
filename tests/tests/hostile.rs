//! Hostile input: randomly mutated octets, small storms, connections cut anywhere, and a server that is killed. No program
//! panics, hangs or uses ever more memory, and other clients are still answered.

mod octets;
mod partner;
mod server;
mod slow;
mod updates;
mod words;
mod xml;
