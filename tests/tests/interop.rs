//! Tests of conversations with other programs: yaz-client and zoomsh as clients of z3950d, SRU clients, curl and Chromium, and
//! our client with yaz-ztest, zebrasrv and Gopher servers. If a program is not installed, its tests are skipped with a message.

mod conversation;
mod curl;
mod dissector;
mod gopher;
mod imitate;
mod judged;
mod koha;
mod metrics;
mod opensearch;
mod own_data;
mod page;
mod recorder;
mod records;
mod servers;
mod services;
mod solr;
mod sru;
mod sru_client;
mod union;
mod yaz_client;
mod zoomsh;
