//! Runs Sphinx Search as a peer: nodes and a distributor on free ports, configured by `z3950d engine-config` (Debian's
//! `sphinxsearch`).

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row};
use tempfile::TempDir;

use crate::peer;
use crate::ports::pairs_of_ports;
use crate::program::{self, Ran, run};
use crate::surroundings::command;

/// An engine, which is stopped when the value is dropped. Its servers are named `node-1` and so on, and `distributor`.
#[derive(Debug)]
pub struct Engine {
    program: PathBuf,
    folder: TempDir,
    servers: Vec<EngineServer>,
}

/// A server of an engine.
#[derive(Debug)]
struct EngineServer {
    name: String,
    port: u16,
    child: Option<Child>,
}

/// The name of the server that distributes searches.
const DISTRIBUTOR: &str = "distributor";

impl Engine {
    /// Starts an engine with this number of nodes; `None` if `searchd` is not installed.
    ///
    /// # Panics
    /// Panics if the engine does not start.
    pub fn start(nodes: usize) -> Option<Self> {
        Self::start_changed(nodes, |text| text)
    }

    /// Starts an engine with this number of nodes, whose configuration files are changed by `change`; `None` if `searchd` is not
    /// installed.
    ///
    /// # Panics
    /// Panics if the engine does not start.
    pub fn start_changed(nodes: usize, change: impl Fn(String) -> String) -> Option<Self> {
        let program = peer::find("searchd")?;
        for _ in 0..3 {
            let names = (1..=nodes).map(|number| format!("node-{number}"));
            let names = names.chain([DISTRIBUTOR.to_owned()]);
            let servers = names.zip(pairs_of_ports(nodes + 1));
            let mut engine = Self {
                program: program.clone(),
                folder: tempfile::tempdir().expect("a folder"),
                servers: servers
                    .map(|(name, port)| EngineServer {
                        name,
                        port,
                        child: None,
                    })
                    .collect(),
            };
            engine.configure(&engine.url(), engine.folder());
            for server in &engine.servers {
                let path = engine.configuration(&server.name);
                let text = std::fs::read_to_string(&path).expect("a configuration");
                std::fs::write(&path, change(text)).expect("written");
            }
            let is_running = |place: usize| {
                let server = &engine.servers[place];
                engine.spawn(&server.name, server.port, "")
            };
            let children: Vec<_> = (0..engine.servers.len()).map(is_running).collect();
            for (server, child) in engine.servers.iter_mut().zip(children) {
                server.child = child;
            }
            if engine.servers.iter().all(|server| server.child.is_some()) {
                return Some(engine);
            }
        }
        panic!("the engine does not start");
    }

    /// Starts another distributor, `replica`; returns its address in the form for settings.
    ///
    /// # Panics
    /// Panics if the distributor does not start.
    pub fn add_replica(&mut self) -> String {
        let port = pairs_of_ports(1)[0];
        let url = format!("sphinxql://127.0.0.1:{port}/books");
        let folder = self.folder().join("of-replica");
        self.configure(&url, &folder);
        let name = "replica".to_owned();
        std::fs::rename(folder.join("distributor.conf"), self.configuration(&name))
            .expect("a configuration");
        let child = self.spawn(&name, port, "");
        assert!(child.is_some(), "the replica starts");
        self.servers.push(EngineServer { name, port, child });
        url
    }

    /// Returns the engine's address in the form for settings.
    pub fn url(&self) -> String {
        format!(
            "sphinxql://127.0.0.1:{}/books",
            self.server(DISTRIBUTOR).port
        )
    }

    /// Returns the addresses of the nodes.
    pub fn nodes(&self) -> Vec<String> {
        let servers = self.servers.iter();
        let nodes = servers.filter(|server| server.name.starts_with("node-"));
        nodes
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect()
    }

    /// Returns the tables of a settings file for the database `books` in this engine, with these additional lines.
    pub fn settings(&self, lines: &str) -> String {
        let (url, nodes) = (self.url(), self.nodes());
        format!("[[database]]\nname = \"books\"\nengine = \"{url}\"\nnodes = {nodes:?}\n{lines}\n")
    }

    /// Returns the folder with the engine's files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `z3950d load`.
    pub fn load(&self, options: &[&str], files: &[&Path]) -> Ran {
        run(&mut self.loading(options, files), "")
    }

    /// Returns the command `z3950d load`.
    pub fn loading(&self, options: &[&str], files: &[&Path]) -> Command {
        let mut command = command(program::path("z3950d"));
        command.args(["load", "--engine", &self.url()]);
        command.args(["--nodes", &self.nodes().join(",")]);
        command.args(options).args(files);
        command
    }

    /// Sends a statement to a server; returns the first value of each row in the answer.
    ///
    /// # Panics
    /// Panics if the server refuses the statement.
    pub async fn ask(&self, server: &str, statement: &str) -> Vec<String> {
        let opts = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(self.server(server).port)
            .prefer_socket(Some(false))
            .max_allowed_packet(Some(1 << 24))
            .wait_timeout(Some(60));
        let mut connection = Conn::new(opts).await.expect("a connection");
        let rows: Vec<Row> = connection.query(statement).await.expect("an answer");
        let first = rows.iter().map(|row| row.get(0).expect("a value"));
        first.collect()
    }

    /// Kills a server.
    ///
    /// # Panics
    /// Panics if the server does not exist.
    pub fn kill(&mut self, server: &str) {
        if let Some(mut child) = self.server_mut(server).child.take() {
            // An error means that the server has already ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a signal to a server by name, such as `STOP`.
    ///
    /// # Panics
    /// Panics if the server is not running.
    pub fn signal(&self, server: &str, name: &str) {
        let child = self.server(server).child.as_ref().expect("it runs");
        let status = command("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &child.id().to_string()])
            .status();
        assert!(status.expect("sh starts").success(), "the signal is sent");
    }

    /// Restarts a server.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn restart(&mut self, server: &str) {
        self.restart_after(server, "");
    }

    /// Restarts a server with shell commands before it, such as `ulimit -f 100;`.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn restart_after(&mut self, server: &str, commands: &str) {
        self.kill(server);
        let child = self.spawn(server, self.server(server).port, commands);
        assert!(child.is_some(), "{server} starts");
        self.server_mut(server).child = child;
    }

    fn server(&self, name: &str) -> &EngineServer {
        let mut servers = self.servers.iter();
        servers
            .find(|server| server.name == name)
            .expect("a server of this name")
    }

    fn server_mut(&mut self, name: &str) -> &mut EngineServer {
        let mut servers = self.servers.iter_mut();
        servers
            .find(|server| server.name == name)
            .expect("a server of this name")
    }

    fn configuration(&self, server: &str) -> PathBuf {
        self.folder().join(format!("{server}.conf"))
    }

    /// Writes the configuration files.
    fn configure(&self, url: &str, folder: &Path) {
        let mut command = command(program::path("z3950d"));
        command.args(["engine-config", "--engine", url]);
        command.args(["--nodes", &self.nodes().join(",")]);
        let ran = run(command.arg("--output").arg(folder), "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        // A node may be slow to accept a connection while many other tests are running, so it gets more time.
        let path = folder.join("distributor.conf");
        let text = std::fs::read_to_string(&path).expect("a configuration");
        let patient = text.replace(
            "agent_connect_timeout = 500",
            "agent_connect_timeout = 10000",
        );
        assert_ne!(text, patient, "the time to connect");
        std::fs::write(&path, patient).expect("written");
    }

    /// Starts a server and waits until it listens.
    fn spawn(&self, name: &str, port: u16, commands: &str) -> Option<Child> {
        let mut child = command("sh")
            .args(["-c", &format!("{commands} exec \"$@\""), "sh"])
            .arg(&self.program)
            .arg("--nodetach")
            .arg("--config")
            .arg(self.configuration(name))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
            if TcpStream::connect(address).is_ok() {
                return Some(child);
            }
            crate::pause();
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for server in &mut self.servers {
            if let Some(child) = &mut server.child {
                // An error means that the server has already ended.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
