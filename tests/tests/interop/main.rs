//! Conversations with the field's own programs: yaz-client and zoomsh as clients of z3950d, our client with
//! yaz-ztest, zebrasrv and the servers of Gopher. One that is not installed is skipped aloud.

mod conversation;
mod dissector;
mod gopher;
mod imitate;
mod records;
mod servers;
mod services;
mod yaz_client;
mod zoomsh;
