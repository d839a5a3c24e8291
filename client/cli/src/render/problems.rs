//! Describes the characters in a record that a conversion loses or changes. The first few are described individually,
//! and the others are counted.

use z3950_marc::charset::{FieldProblem, ProblemKind, Unencodable};

/// The maximum number of problems in a record that are described individually.
const FEW: usize = 3;

/// Describes where octets could not be decoded. The first few places are described individually, and the others are
/// counted.
pub(crate) fn undecoded(problems: &[FieldProblem]) -> Vec<String> {
    let mut words: Vec<String> = problems.iter().take(FEW).map(ToString::to_string).collect();
    match problems.len().saturating_sub(FEW) {
        0 => {}
        1 => words.push("1 more place like these".to_owned()),
        more => words.push(format!("{more} more places like these")),
    }
    words
}

/// Describes the characters that the output character set lacks: which and how many they are, and what is written in
/// their place. Returns `None` if all characters can be encoded.
pub(crate) fn not_encoded(problems: &[FieldProblem], replaced: Unencodable) -> Option<String> {
    let mut set = "";
    let mut characters = Vec::new();
    let mut count = 0;
    for problem in problems {
        if let ProblemKind::Unencodable {
            character,
            set: name,
        } = problem.problem.kind
        {
            set = name;
            count += 1;
            if !characters.contains(&character) {
                characters.push(character);
            }
        }
    }
    let first = characters.first()?;
    let written = replaced.replacement(*first);
    let shown: Vec<String> = characters.iter().take(FEW).map(|one| shown(*one)).collect();
    let shown = shown.join(", ");
    let others = match characters.len().saturating_sub(FEW) {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    Some(match (count, replaced) {
        (1, _) => format!("{shown} is not in {set}; {written} is written"),
        (_, Unencodable::Reference) => format!(
            "{count} characters are not in {set} and are written as references such as {written}: {shown}{others}"
        ),
        _ => format!(
            "{count} characters are not in {set} and are written as {written}: {shown}{others}"
        ),
    })
}

fn shown(character: char) -> String {
    let number = u32::from(character);
    if character.is_control() {
        format!("U+{number:04X}")
    } else {
        format!("{character} (U+{number:04X})")
    }
}
