//! How one approved phrase is compared with the task: matched or not, and whether that is uncertain. Word boundaries are
//! the ASCII ones and lengths are UTF-16 code units, as in the contract; both are exact here, without a regex engine.
//! Phrases in scripts without spaces go to `unspaced.rs`.

use super::task::Task;
use super::unspaced;
use crate::foundation::text;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

/// Shorter tokens are neither matched approximately nor alone enough for certainty.
pub(super) const LONG_TOKEN_UNITS: usize = 4;
/// How many tokens before and after a match are looked at.
const NEIGHBOURS: usize = 6;

const BROAD: [&str; 7] = ["all", "any", "general", "help", "task", "thing", "work"];
pub(super) const NEGATIONS: [&str; 6] = ["no", "not", "never", "avoid", "without", "dont"];
const MENTIONS: [&str; 9] = ["discuss", "explain", "mention", "quote", "label", "term", "phrase", "example", "whether"];
pub(super) const CONTRASTS: [&str; 3] = ["but", "only", "instead"];
const BOUNDED_CONTRASTS: [&str; 4] = ["rather than", "do not", "not for", "instead of"];
const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')];

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::<GeneralCategory>::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::<Script>::new();

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assessment {
    pub(super) matched: bool,
    pub(super) uncertain: bool,
}

pub(super) const NO_MATCH: Assessment = Assessment { matched: false, uncertain: false };

/// Whether a phrase speaks for the asset or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polarity {
    For,
    Against,
}

/// Compares one phrase with the task.
pub(super) fn assess(task: &Task<'_>, phrase: &str, polarity: Polarity) -> Assessment {
    let normal = text::normalise_phrase(phrase);
    task.count(normal.len());
    if normal.chars().any(is_unspaced_script) {
        unspaced::assess(task, &normal, polarity)
    } else {
        spaced(task, &normal)
    }
}

/// Han, Hiragana, Katakana and Hangul: scripts that are not compared word by word.
fn is_unspaced_script(character: char) -> bool {
    matches!(SCRIPTS.get(character), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul)
}

fn spaced(task: &Task<'_>, normal: &str) -> Assessment {
    let tokens = tokens(&latin(normal));
    if tokens.is_empty() || tokens.len() > task.tokens.len() {
        return NO_MATCH;
    }
    if let Some(start) = task.vocabulary.position(&tokens) {
        return Assessment { matched: true, uncertain: is_uncertain(task, normal, &tokens, start) };
    }
    let near = tokens.iter().any(|token| task.vocabulary.is_near(token));
    Assessment { matched: near, uncertain: near }
}

fn is_uncertain(task: &Task<'_>, normal: &str, tokens: &[String], start: usize) -> bool {
    let end = start + tokens.len();
    let before = task.tokens.get(start.saturating_sub(NEIGHBOURS)..start).unwrap_or_default();
    let after = task.tokens.get(end..task.tokens.len().min(end + NEIGHBOURS)).unwrap_or_default();
    let holds = |list: &[String], words: &[&str]| list.iter().any(|token| words.contains(&token.as_str()));
    let weak = match tokens {
        [only] => text::utf16_len(only) < LONG_TOKEN_UNITS || BROAD.contains(&only.as_str()),
        _ => false,
    };
    weak || holds(tokens, &NEGATIONS)
        || holds(before, &NEGATIONS)
        || holds(before, &MENTIONS)
        || holds(after, &MENTIONS)
        || task.contrasts
        || task.quotes(normal, &QUOTES)
}

/// The Latin form of a normalised text: one kind of apostrophe, and a contracted negation written out.
pub(super) fn latin(normal: &str) -> String {
    let straight: Vec<char> = normal
        .chars()
        .map(|character| if matches!(character, '‘' | '’' | 'ʼ' | '＇') { '\'' } else { character })
        .collect();
    text::collapse_whitespace(&expand_negations(&straight))
}

/// Replaces each word that ends in `n't` by ` not `. The word begins at the first ASCII word boundary within the letters
/// before the `n`, of which there must be at least one.
fn expand_negations(characters: &[char]) -> String {
    let mut out = String::with_capacity(characters.len());
    let mut done = 0;
    for at in 0..characters.len() {
        let Some(start) = negation_start(characters, at, done) else { continue };
        out.extend(characters.get(done..start).unwrap_or_default());
        out.push_str(" not ");
        done = at + 3;
    }
    out.extend(characters.get(done..).unwrap_or_default());
    out
}

/// Where the word begins whose `n't` stands at `at`, not before `floor`.
fn negation_start(characters: &[char], at: usize, floor: usize) -> Option<usize> {
    let ends = characters.get(at..at + 3) == Some(&['n', '\'', 't']) && is_boundary(characters, at + 3);
    let before = if ends { characters.get(floor..at)? } else { return None };
    let letters = before.iter().rev().take_while(|character| is_letter(**character)).count();
    (at - letters..at).find(|start| is_boundary(characters, *start))
}

/// An ASCII word boundary before position `at`.
fn is_boundary(characters: &[char], at: usize) -> bool {
    let word = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied().is_some_and(is_ascii_word);
    word(at.checked_sub(1)) != word(Some(at))
}

fn is_ascii_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Whether a Latin form says that something else is meant.
pub(super) fn contrasts(latin: &str) -> bool {
    let delimited = |character: char| character == ';' || text::is_javascript_whitespace(character);
    latin.split(delimited).any(|word| CONTRASTS.contains(&word))
        || BOUNDED_CONTRASTS.iter().any(|words| {
            latin.match_indices(words).any(|(at, _)| {
                let before = latin.get(..at).and_then(|text| text.chars().next_back());
                let after = latin.get(at + words.len()..).and_then(|text| text.chars().next());
                !before.is_some_and(is_ascii_word) && !after.is_some_and(is_ascii_word)
            })
        })
}

/// The maximal runs of letters and numbers; everything else, combining marks too, separates.
pub(super) fn tokens(latin: &str) -> Vec<String> {
    latin
        .split(|character| !is_letter(character) && !is_number(character))
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Every mark that opens a quotation, for phrases in any script.
pub(super) fn is_quotation_mark(character: char) -> bool {
    QUOTES.iter().any(|(open, _)| *open == character) || unspaced::QUOTES.iter().any(|(open, _)| *open == character)
}

/// What an identifier could go on with.
pub(super) fn is_name_part(character: char) -> bool {
    is_letter(character) || is_number(character) || character == '_'
}

fn is_letter(character: char) -> bool {
    GeneralCategoryGroup::Letter.contains(CATEGORIES.get(character))
}

fn is_number(character: char) -> bool {
    GeneralCategoryGroup::Number.contains(CATEGORIES.get(character))
}

#[cfg(test)]
mod tests {
    use super::super::TaskSource;
    use super::*;

    fn compare(task: &str, phrase: &str) -> (bool, bool) {
        let task = Task::read(task.as_bytes(), TaskSource::Stdin).unwrap();
        let found = assess(&task, phrase, Polarity::For);
        (found.matched, found.uncertain)
    }

    #[test]
    fn phrases_in_spaced_scripts_match_as_the_verified_vectors_say() {
        const YES: (bool, bool) = (true, false);
        const UNSURE: (bool, bool) = (true, true);
        const NO: (bool, bool) = (false, false);
        let vectors = [
            ("draft article", "draft", YES),
            ("Draft-Article!", "draft", YES),
            ("redraft it", "draft", UNSURE),
            ("drifting", "draft", NO),
            ("drafts", "draft", UNSURE),
            ("draf", "draft", UNSURE),
            ("dra", "draft", NO),
            ("a b", "a b c", NO),
            ("code", "code review", NO),
            ("go now", "go", UNSURE),
            ("please help", "help", UNSURE),
            ("work on general help", "general help", YES),
            ("step 10 now", "10", UNSURE),
            ("step 1000 now", "1000", YES),
            ("ﬁle upload", "file", YES),
            ("Straße", "STRASSE", UNSURE),
            ("no draft", "draft", UNSURE),
            ("not a b c d e draft", "draft", UNSURE),
            ("not a b c d e f draft", "draft", YES),
            ("draft a b c d e quote", "draft", UNSURE),
            ("draft a b c d e f quote", "draft", YES),
            ("draft;but;fast", "draft", UNSURE),
            ("butter draft", "draft", YES),
            ("don't draft", "draft", UNSURE),
            ("don’t draft", "draft", UNSURE),
            ("n't draft", "draft", YES),
            ("cannot draft", "draft", YES),
            ("'draft' it", "draft", UNSURE),
            ("the draft's x", "draft", YES),
            ("`draft` it", "draft", YES),
            ("x10000", "1000", UNSURE),
            ("école", "Ecole", NO),
            ("write c code", "C++", UNSURE),
        ];
        for (task, phrase, expected) in vectors {
            assert_eq!(compare(task, phrase), expected, "{task:?} against {phrase:?}");
        }
    }

    #[test]
    fn a_contracted_negation_is_written_out_only_at_ascii_word_boundaries() {
        assert_eq!(latin("éisn't it"), "é not it");
        assert_eq!(latin("don'ts"), "don'ts");
        assert_eq!(latin("n't"), "n't");
        assert_eq!(latin("isn't, won't"), "not , not");
        assert_eq!(latin("1don't"), "1don't");
        assert_eq!(latin("isn't_"), "isn't_");
    }

    #[test]
    fn contrast_words_count_only_where_they_stand_alone() {
        for text in ["a but b", "only a", "a;instead", "x rather than y", "(do not)", "a, instead of b", "not for"] {
            assert!(contrasts(text), "{text}");
        }
        for text in ["butter", "but, a", "rather thane", "undo not", "not fortunate", "onlyx"] {
            assert!(!contrasts(text), "{text}");
        }
    }

    #[test]
    fn the_prolonged_sound_mark_alone_belongs_to_no_script() {
        assert_eq!(compare("bake bread", "ー"), (false, false));
    }
}
