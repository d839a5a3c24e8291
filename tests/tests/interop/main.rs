//! Conversations with other programs: yaz-client and zoomsh as clients of z3950d, our client with yaz-ztest, zebrasrv and
//! Gopher servers. A test of a program that is not installed says that it is skipped.

mod conversation;
mod dissector;
mod gopher;
mod imitate;
mod records;
mod servers;
mod services;
mod yaz_client;
mod zoomsh;
