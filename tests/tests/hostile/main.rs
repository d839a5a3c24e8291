//! What no honest partner sends: octets changed at random, whole storms in small, connections cut anywhere, and a
//! server that is killed. Nothing panics, hangs or grows, and others are still answered.

mod octets;
mod partner;
mod server;
mod slow;
mod updates;
