//! The configuration files of the engine, from the layout of a database: one for each node, and one for the server that
//! distributes searches. Sphinx 2.2 cannot create tables by query.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::address::{NodeAddressError, read_addresses};
use super::layout::EngineLayout;
use super::link::{EngineAddress, host_and_port};
use super::nodes::{TERM, TERM_FIELD, TERM_NUMBERS, terms_of};

/// The engine of a database, as its configuration needs it.
#[derive(Clone, Debug)]
pub struct EngineSetup<'a> {
    /// The fields and attributes.
    pub layout: &'a EngineLayout,
    /// The index, as in `sphinxql://HOST:PORT/INDEX`.
    pub index: &'a str,
    /// The servers that distribute searches.
    pub replicas: &'a [EngineAddress],
    /// The nodes: `HOST:PORT`, where `PORT` is that of SphinxQL and the next one that of the engine's own protocol.
    pub nodes: &'a [String],
    /// How long `z3950d` waits for an answer. A node may take three quarters of it, so that there is one without it.
    pub answer_time: Duration,
}

/// What is between the edges of tokens, folded by `z3950d` already. Capitals are for people who ask the engine directly.
const CHARSET: &str = "0..9, A..Z->a..z, _, a..z, U+A1..U+D7FF, U+E000..U+F7FF, U+F900..U+1FFFF";

impl EngineSetup<'_> {
    /// The configuration of a node, whose files are in `folder`.
    ///
    /// # Errors
    /// Some server, not only this one, cannot have its address.
    pub fn node(&self, node: &str, folder: &Path) -> Result<String, NodeAddressError> {
        let Self { layout, index, .. } = self;
        let terms = terms_of(index);
        let path = folder.join(&terms);
        let numbers = TERM_NUMBERS.map(|number| format!("  rt_attr_bigint = {number}\n"));
        // Sphinx numbers the parts of all its indexes together, and reads the last number from the index that it opens last. If that
        // were too low, which it can be after a crash unless it is from the last index to be written, words of records that are
        // replaced would be lost. It writes the indexes in this order, and so do backups.
        let mut text = format!(
            "index {terms} {{\n  type = rt\n  path = {}\n  rt_field = {TERM_FIELD}\n{}  \
             rt_attr_string = {TERM}\n  rt_mem_limit = 64M\n  dict = keywords\n  charset_table = {CHARSET}\n}}\n",
            path.display(),
            numbers.concat()
        );
        let path = folder.join(index);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "index {index} {{\n  type = rt\n  path = {}\n",
            path.display()
        );
        for field in layout.fields() {
            let _ = writeln!(text, "  rt_field = {field}");
        }
        for [folded, own, has] in layout.sort_columns() {
            let _ = writeln!(
                text,
                "  rt_attr_string = {folded}\n  rt_attr_string = {own}\n  rt_attr_uint = {has}"
            );
        }
        let _ = write!(
            text,
            "  rt_attr_json = facets\n  rt_attr_string = record\n  rt_mem_limit = 256M\n  dict = keywords\n  \
             min_infix_len = 2\n  charset_table = {CHARSET}\n  blend_chars = U+F800, U+F801\n  \
             blend_mode = trim_none, trim_head, trim_tail, trim_both\n  phrase_boundary = U+F802\n  \
             phrase_boundary_step = 100\n}}\n"
        );
        text.push_str(&self.server(node, folder)?);
        Ok(text)
    }

    /// The configuration of a server that distributes searches, whose address is in the same form as those of nodes.
    ///
    /// # Errors
    /// Some server, not only this one, cannot have its address.
    pub fn distributor(&self, address: &str, folder: &Path) -> Result<String, NodeAddressError> {
        let mut text = String::new();
        for index in [self.index.to_owned(), terms_of(self.index)] {
            let _ = writeln!(text, "index {index} {{\n  type = distributed");
            for node in self.nodes {
                // Not `agent_persistent`: each kept connection with a node that was restarted would fail a search.
                let agent = agent_address(node);
                let agent = agent.ok_or_else(|| NodeAddressError::Malformed(node.clone()))?;
                let _ = writeln!(text, "  agent = {agent}:{index}");
            }
            let most = (self.answer_time.as_millis() * 3 / 4).max(1);
            let _ = write!(
                text,
                "  agent_connect_timeout = 500\n  agent_query_timeout = {most}\n}}\n"
            );
        }
        text.push_str(&self.server(address, folder)?);
        Ok(text)
    }

    /// All servers may be on one machine.
    fn check_addresses(&self) -> Result<(), NodeAddressError> {
        let replicas = self.replicas.iter().map(ToString::to_string);
        let servers: Vec<String> = self.nodes.iter().cloned().chain(replicas).collect();
        let mut servers = read_addresses(&servers).into_iter();
        servers.try_for_each(|address| address.map(drop))
    }

    fn server(&self, address: &str, folder: &Path) -> Result<String, NodeAddressError> {
        self.check_addresses()?;
        let place = host_and_port(address);
        let (host, port) = place.ok_or_else(|| NodeAddressError::Malformed(address.to_owned()))?;
        let agent = agent_port(port);
        let file = |name: &str| folder.join(name).display().to_string();
        // Each search connects to all nodes: with the five of Sphinx, some of many at once would not be accepted in time.
        let backlog = 1024;
        // Without a limit, the binary log is one file, which grows until the server stops.
        let log_size = "256M";
        Ok(format!(
            "searchd {{\n  listen = {host}:{port}:mysql41\n  listen = {host}:{agent}\n  listen_backlog = {backlog}\n  pid_file = {}\n  log = {}\n  \
             binlog_path = {}\n  binlog_max_log_size = {log_size}\n  workers = threads\n  max_packet_size = 64M\n  max_filter_values = 4096\n  \
             expansion_limit = 0\n  collation_server = binary\n  thread_stack = 1M\n}}\n",
            file("searchd.pid"),
            file("searchd.log"),
            folder.display(),
        ))
    }
}

/// The port of the engine's own protocol, by which its servers talk to each other.
fn agent_port(port: u16) -> u16 {
    port.saturating_add(1)
}

/// The address of a node in the engine's own protocol.
pub(super) fn agent_address(node: &str) -> Option<String> {
    let (host, port) = host_and_port(node)?;
    Some(format!("{host}:{}", agent_port(port)))
}
