//! `help`: the commands, one of them with its examples, and a few words on what queries may say.

use super::command::{self, Answer, Stop};
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::Output;

/// Topics beside the commands, by name.
const TOPICS: &[(&str, &str)] = &[("queries", QUERIES), ("prox", PROXIMITY)];

const QUERIES: &str = "\
Queries of find, unless querytype selects one language:
  war peace               words, all of which must occur
  \"war and peace\"         a phrase
  ti:war au:tolstoy       words in an index; Tab after find lists the indexes
  war -ti:peace           the same as war NOT ti:peace; AND and OR work too, in capitals
  @attr 1=4 war           PQF: an operand with attributes, here Use 4 (title)
  @and A B, @or, @not     PQF: operators come before their operands
  @set 1                  PQF: an earlier result set
  ccl: ti=war and au=x    CCL; set_cclfile names its qualifiers
  cql: title=war          CQL; set_cqlfile names its indexes
help prox explains proximity";

const PROXIMITY: &str = "\
@prox EXCLUSION DISTANCE ORDERED RELATION WHICH UNIT A B
  EXCLUSION  1: not near each other; 0 or void: near each other
  DISTANCE   how many units apart the two are, compared by RELATION
  ORDERED    1: A comes before B; 0: in any order
  RELATION   1 <, 2 <=, 3 =, 4 >=, 5 >, 6 not equal
  WHICH      k: a unit of the standard; p: a private unit of the server
  UNIT       1 character, 2 word, 3 sentence, 4 paragraph, 5 section, 6 chapter, 7 document, 8 element
  e.g. find @prox 0 3 1 2 k 2 war peace";

impl State {
    pub(super) fn help(&mut self, name: &str, output: &mut Output) -> Answer {
        if let Some((_, text)) = TOPICS.iter().find(|(topic, _)| *topic == name) {
            output.line(text)?;
            return Ok(Exit::Delivered);
        }
        if !name.is_empty() {
            let entry = command::entry(name).ok_or_else(|| Stop::wrong(command::unknown(name)))?;
            output.line(&entry.help())?;
            if entry.name == "find" {
                output.line(QUERIES)?;
            }
            return Ok(Exit::Delivered);
        }
        for entry in command::all() {
            output.line(&format!("{:<20} {}", entry.name, entry.summary))?;
        }
        output
            .line("\nhelp COMMAND shows the arguments and examples of a command, help queries the syntax of queries")?;
        Ok(Exit::Delivered)
    }
}
