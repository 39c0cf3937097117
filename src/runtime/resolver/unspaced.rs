//! How a phrase in Chinese, Japanese or Korean script is compared: without its punctuation and blanks, as UTF-16 code
//! units; found whole, or by how many of its pairs of units the task holds. All counts are exact, without fractions.

use super::phrase::{Assessment, NO_MATCH, Polarity};
use super::sequence::Sequence;
use super::task::Task;
use crate::foundation::text;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use std::collections::HashSet;

/// Shorter phrases are never certain, and never matched in part.
const LONG_PHRASE_UNITS: usize = 3;
/// How many units before a match are looked at.
const UNITS_BEFORE: usize = 6;
/// Tenths of a phrase's pairs that make a match.
const MOST: usize = 6;
/// The same for an exclusion that says what it excludes: a part of it is enough.
const SOME: usize = 3;

pub(super) const NEGATIONS: [&str; 10] = ["不要", "不应", "不能", "不可", "别", "勿", "禁止", "避免", "无需", "不用"];
const MENTIONS: [&str; 8] = ["讨论", "解释", "引用", "提到", "标签", "词语", "示例", "是否"];
pub(super) const CONTRASTS: [&str; 7] = ["只", "而不是", "但", "但是", "不过", "改为", "改成"];
/// An exclusion that holds one of these says what it does not exclude, too.
const TURNED: [&str; 10] = ["无关", "不要", "不应", "不能", "不可", "禁止", "避免", "除外", "之外", "非"];
pub(super) const QUOTES: [(char, char); 3] = [('“', '”'), ('「', '」'), ('『', '』')];

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::<GeneralCategory>::new();

/// A task as such phrases see it.
pub(super) struct UnspacedTask {
    units: Vec<u16>,
    order: Sequence,
    pairs: HashSet<[u16; 2]>,
    /// Whether it mentions, asks or contrasts.
    hedges: bool,
}

impl UnspacedTask {
    pub(super) fn of(normal: &str) -> Self {
        let bare = strip(normal);
        let units: Vec<u16> = bare.encode_utf16().collect();
        Self {
            order: Sequence::of(units.iter().copied().map(u32::from)),
            pairs: pairs(&units).collect(),
            hedges: MENTIONS.iter().chain(&CONTRASTS).any(|cue| bare.contains(cue)),
            units,
        }
    }

    /// How much was looked at so far.
    pub(super) fn steps(&self) -> u64 {
        self.order.steps()
    }
}

/// Compares a normalised phrase with the task.
pub(super) fn assess(task: &Task<'_>, normal: &str, polarity: Polarity) -> Assessment {
    let seen = task.unspaced();
    let phrase: Vec<u16> = strip(normal).encode_utf16().collect();
    task.count(phrase.len());
    match seen.order.find(phrase.iter().copied().map(u32::from)) {
        Some(start) => {
            let short = phrase.len() < LONG_PHRASE_UNITS;
            let uncertain = short || seen.hedges || is_negated(seen, start) || task.quotes(normal, &QUOTES);
            Assessment { matched: true, uncertain }
        }
        None if phrase.len() < LONG_PHRASE_UNITS => NO_MATCH,
        None => Assessment { matched: covers(seen, &phrase, threshold(normal, polarity)), uncertain: false },
    }
}

fn is_negated(task: &UnspacedTask, start: usize) -> bool {
    let before = task.units.get(start.saturating_sub(UNITS_BEFORE)..start).unwrap_or_default();
    NEGATIONS.iter().any(|cue| before.ends_with(&cue.encode_utf16().collect::<Vec<_>>()))
}

fn threshold(normal: &str, polarity: Polarity) -> usize {
    let turned = || TURNED.iter().any(|cue| normal.contains(cue));
    if polarity == Polarity::For || turned() { MOST } else { SOME }
}

/// Whether the task holds at least so many tenths of the phrase's pairs, each as often as the phrase has it.
fn covers(task: &UnspacedTask, phrase: &[u16], tenths: usize) -> bool {
    let hits = pairs(phrase).filter(|pair| task.pairs.contains(pair)).count();
    hits * 10 >= phrase.len().saturating_sub(1) * tenths
}

fn pairs(units: &[u16]) -> impl Iterator<Item = [u16; 2]> {
    units.windows(2).filter_map(|pair| pair.first_chunk().copied())
}

/// The text without punctuation, separators and blanks; symbols stay.
fn strip(normal: &str) -> String {
    let leaves = |character: &char| {
        let category = CATEGORIES.get(*character);
        GeneralCategoryGroup::Punctuation.contains(category)
            || GeneralCategoryGroup::Separator.contains(category)
            || text::is_javascript_whitespace(*character)
    };
    normal.chars().filter(|character| !leaves(character)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::TaskSource;
    use super::super::phrase;
    use super::*;

    const YES: (bool, bool) = (true, false);
    const UNSURE: (bool, bool) = (true, true);
    const NO: (bool, bool) = (false, false);

    fn compare(task: &str, phrase: &str, polarity: Polarity) -> (bool, bool) {
        let task = Task::read(task.as_bytes(), TaskSource::Stdin).unwrap();
        let found = phrase::assess(&task, phrase, polarity);
        (found.matched, found.uncertain)
    }

    #[test]
    fn phrases_in_unspaced_scripts_match_as_the_verified_vectors_say() {
        use Polarity::{Against, For};
        let vectors = [
            ("写文章", "写文章", For, YES),
            ("写文", "写文章", For, NO),
            ("请写 文章", "写文章", For, YES),
            ("不要写文章", "写文章", For, UNSURE),
            ("不要马上写文章", "写文章", For, YES),
            ("是否写文章", "写文章", For, UNSURE),
            ("写文章但快", "写文章", For, UNSURE),
            ("「写文章」", "写文章", For, UNSURE),
            ("写诗", "写诗", For, UNSURE),
            ("一二", "一三", For, NO),
            ("审代码", "代码审查工作", Against, NO),
            ("审查代码", "代码审查", Against, YES),
            ("口播脚本发布", "与口播脚本发布无关的任务", Against, NO),
            ("与口播脚本发布无关", "与口播脚本发布无关的任务", Against, YES),
            ("ｶﾞｲﾄﾞ", "ガイド", For, YES),
            ("코드 리뷰", "코드리뷰", For, YES),
            ("C言語 review", "c言語", For, YES),
            ("이 코드를 리뷰해줘", "코드 리뷰", For, YES),
        ];
        for (task, phrase, polarity, expected) in vectors {
            assert_eq!(compare(task, phrase, polarity), expected, "{task:?} against {phrase:?}");
        }
    }

    #[test]
    fn characters_outside_the_basic_plane_count_as_two_units() {
        // Four ideographs of one half in common are seven pairs; those within an ideograph count like those between.
        let phrase = "\u{20000}\u{20001}\u{20002}\u{20003}";
        assert_eq!(compare("\u{20000}\u{20001}\u{20002}", phrase, Polarity::For), YES, "five of seven");
        assert_eq!(compare("\u{20000}x\u{20001}x\u{20002}x\u{20003}", phrase, Polarity::For), NO, "four of seven");
        assert_eq!(compare("\u{20000}x\u{20001}x\u{20002}", phrase, Polarity::Against), YES, "three of seven");
        assert_eq!(compare("\u{20000}x\u{20001}", phrase, Polarity::Against), NO, "two of seven");
    }

    #[test]
    fn a_negation_counts_only_directly_before_and_quotes_only_around() {
        assert_eq!(compare("请勿，写文章", "写文章", Polarity::For), UNSURE, "punctuation does not separate");
        assert_eq!(compare("写文章，之后不要", "写文章", Polarity::For), YES);
        assert_eq!(compare("“写文章”吧", "写文章", Polarity::For), UNSURE);
        assert_eq!(compare("“现在写文章”", "写文章", Polarity::For), YES);
        assert_eq!(compare("『写文章", "写文章", Polarity::For), YES);
    }

    #[test]
    fn coverage_is_exact_at_its_thresholds() {
        // Ten pairs: three of them are enough for an exclusion, six for anything else.
        let phrase = "甲乙丙丁戊己庚辛壬癸子";
        for (task, polarity, expected) in [
            ("甲乙丙丁", Polarity::Against, YES),
            ("甲乙丙", Polarity::Against, NO),
            ("甲乙丙丁戊己庚", Polarity::For, YES),
            ("甲乙丙丁戊己", Polarity::For, NO),
        ] {
            assert_eq!(compare(task, phrase, polarity), expected, "{task} {polarity:?}");
        }
        assert_eq!(compare("甲乙丙丁", "甲乙丙丁戊己庚辛壬癸非", Polarity::Against), NO);
    }
}
