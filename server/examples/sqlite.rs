//! Serves a catalogue in SQLite for searches, scans and Presents. With a file as argument, serves its catalogue until it is stopped.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Row, params_from_iter};
use z3950_server::backend::*;
use z3950_server::marc::{Field, MarcRecord};
use z3950_server::{Limits, Server, forms};

const TABLES: &str = "
    CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT COLLATE NOCASE, author TEXT COLLATE NOCASE);
    CREATE INDEX titles ON books (title);
    CREATE INDEX authors ON books (author);
    CREATE VIRTUAL TABLE words USING fts5 (title, author, content = books, content_rowid = id);
    INSERT INTO books VALUES (158, 'Emma', 'Austen, Jane'), (5000000001, 'Persuasion', 'Austen, Jane'), (2600, 'War and peace', 'Tolstoy, Leo');
    INSERT INTO words (words) VALUES ('rebuild');";

/// Two connections to the database: one for searches, which may take long, and one for single rows, which are read in microseconds.
struct Books {
    books: Arc<Mutex<Connection>>,
    rows: Mutex<Connection>,
}

impl Books {
    /// Runs statements on a separate thread, so that they do not delay other sessions.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Diagnostic> {
        let books = Arc::clone(&self.books);
        blocking(move || {
            work(&books.lock().unwrap_or_else(PoisonError::into_inner)).map_err(failed)
        })
        .await
    }
}

fn failed(error: rusqlite::Error) -> Diagnostic {
    diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, error.to_string())
}

/// Returns the column that a Bib-1 access point selects.
fn column(clause: &Clause<'_>) -> Result<&'static str, Diagnostic> {
    match clause.access_point {
        Some(4) => Ok("title"),
        Some(1 | 1003) => Ok("author"),
        None | Some(1016) => Ok("{title author}"),
        Some(other) => Err(diagnostic(Condition::USE, other.to_string())),
    }
}

/// Returns the SQL condition for one term of a query, with its parameters.
fn condition(operand: &Operand) -> Result<(String, Vec<String>), Diagnostic> {
    let Operand::AttributesPlusTerm(operand) = operand else {
        return Err(diagnostic(Condition::UNSUPPORTED_SEARCH, "result sets"));
    };
    let clause = Clause::of(operand)?;
    let phrase = clause.text.replace('"', "\"\"");
    let words = format!("{} : \"{phrase}\"", column(&clause)?);
    let condition = "id IN (SELECT rowid FROM words WHERE words MATCH ?)";
    Ok((condition.to_owned(), vec![words]))
}

fn combined(
    operator: &Operator,
    (left, mut parameters): (String, Vec<String>),
    (right, others): (String, Vec<String>),
) -> Result<(String, Vec<String>), Diagnostic> {
    let operator = match operator {
        Operator::And => "AND",
        Operator::Or => "OR",
        Operator::AndNot => "AND NOT",
        Operator::Prox(_) => return Err(diagnostic(Condition::UNSUPPORTED_SEARCH, "proximity")),
    };
    parameters.extend(others);
    Ok((format!("({left} {operator} {right})"), parameters))
}

impl Backend for Books {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(async move {
            check_databases(search.databases, &["books"])?;
            let (condition, terms) = search.query.rpn.evaluate(condition, combined)?;
            self.run(move |books| {
                let select = format!("SELECT id FROM books WHERE {condition} ORDER BY id");
                let mut select = books.prepare(&select)?;
                let ids = select.query_map(params_from_iter(terms), |row| row.get(0).map(RecordId));
                Ok(ids?.collect::<Result<Hits, _>>()?.into())
            })
            .await
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::has_syntax(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let RecordId(id) = wanted.record;
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let select = "SELECT id, title, author FROM books WHERE id = ?";
        let book = rows.query_row(select, [id], marc);
        ready(book.map_err(failed).map(|book| {
            let form = wanted.composition;
            let syntax = form.syntax.unwrap_or(oid::USMARC);
            let record = forms::of_marc(&book, &syntax, form.element_set("books"));
            Retrieved::new("books".into(), record).written_here()
        }))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        Box::pin(async move {
            check_databases(scan.databases, &["books"])?;
            let clause = Clause::of(scan.start)?;
            let column = column(&clause)?.replace("{title author}", "title");
            let (start, before, after) = (clause.text.into_owned(), scan.before, scan.after);
            self.run(move |books| {
                let terms = |side: &str, order: &str, most: usize| -> rusqlite::Result<Vec<_>> {
                    let mut select = books.prepare(&format!(
                        "SELECT {column}, count(*) FROM books WHERE {column} {side} ?
                         GROUP BY {column} ORDER BY {column} {order} LIMIT {most}"
                    ))?;
                    select.query_map([&start], term)?.collect()
                };
                let mut scanned = Scanned::default();
                scanned.before = terms("<", "DESC", before)?;
                scanned.before.reverse();
                scanned.after = terms(">=", "ASC", after)?;
                let first = scanned.after.first().map(|first| &first.term);
                scanned.exact = first == Some(&Term::General(start.as_str().into()));
                Ok(scanned)
            })
            .await
        })
    }
}

fn term(row: &Row<'_>) -> rusqlite::Result<ScanTerm> {
    let mut term = ScanTerm::new(Term::General(row.get::<_, String>(0)?.as_str().into()));
    term.records = usize::try_from(row.get::<_, i64>(1)?).ok();
    Ok(term)
}

fn marc(row: &Row<'_>) -> rusqlite::Result<MarcRecord> {
    let (id, title, author): (i64, String, String) = row.try_into()?;
    Ok(MarcRecord {
        fields: vec![
            Field::control(b"001", id.to_string()),
            Field::data(b"100", "1 ", [("a", author)]),
            Field::data(b"245", "10", [("a", title)]),
        ],
        ..MarcRecord::default()
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    let name = file.as_deref().unwrap_or("file::memory:?cache=shared");
    let (books, rows) = (Connection::open(name)?, Connection::open(name)?);
    if !books.table_exists(None, "books")? {
        books.execute_batch(TABLES)?;
    }
    let (books, rows) = (Arc::new(Mutex::new(books)), Mutex::new(rows));
    let backend = Arc::new(Books { books, rows });
    let server = Server::bind("127.0.0.1:0", backend, Limits::default()).await?;
    let address = server.local_addrs()[0];
    println!("listening on {address}");
    let serving = tokio::spawn(server.run(std::future::pending()));
    if file.is_some() {
        serving.await?;
    }
    let target = format!("{address}/books");
    let books = z3950::Client::new().connect(target).await?;
    let hits = books.search(z3950::Query::author("austen")).await?;
    let last = hits.record(2).await?.title();
    println!("{} found; the last is {last:?}", hits.count());
    Ok(())
}
