//! Conversations with the field's own programs: yaz-client and zoomsh as clients of z3950d, our client with
//! yaz-ztest and zebrasrv. One that is not installed is skipped aloud.

mod records;
mod servers;
mod services;
mod yaz_client;
mod zoomsh;
