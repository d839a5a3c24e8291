//! Hostile input: randomly mutated octets, small storms, connections cut anywhere, and a server that is killed. Nothing
//! panics, hangs or grows, and other clients are still answered.

mod octets;
mod partner;
mod server;
mod slow;
mod updates;
mod words;
mod xml;
