//! Words that deny or restrict, in the languages that people write tasks in. Hardened mode asks instead of loading where
//! the task holds one anywhere; what the contract's own rules heed is part of it (docs/contract/resolver.md). A list of
//! words is no understanding: it asks too often on purpose, and still misses what it has no word for.

use super::{phrase, unspaced};
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;
use std::collections::HashSet;

/// Cues that are whole words, in lower case. `n't` has become `not` before they are compared.
const WORDS: [&str; 12] = [
    // English; contractions also without their apostrophe.
    "cannot cant dont doesnt didnt wont wouldnt shouldnt couldnt mustnt neednt isnt arent wasnt werent hasnt \
     havent hadnt aint shant mightnt darent nope nor neither none nothing nobody nowhere non except excepting \
     excluding exclude excludes excluded ignore ignoring omit omitting skip skipping stop cease refuse refrain \
     decline forbid forbidden prohibit prohibited disallow disallowed unless avoiding rather however although \
     though yet barely hardly scarcely seldom rarely unwanted undo cancel abort disregard unrelated besides lest",
    // German
    "nicht nichts kein keine keinen keinem keiner keines keinesfalls keineswegs nie niemals nein ohne weder außer \
     ausser statt anstatt stattdessen sondern nur aber jedoch vermeide vermeiden verboten",
    // French
    "ne n pas jamais sans aucun aucune rien sauf ni mais seulement plutôt éviter évite évitez interdit excepté",
    // Spanish
    "nunca jamás sin ningún ninguna ninguno nada tampoco excepto salvo pero sino sólo solo evita evitar evite \
     prohibido",
    // Portuguese
    "não nao sem nem nenhum nenhuma exceto mas apenas somente proibido",
    // Italian
    "mai senza né nessun nessuna nessuno niente tranne eccetto ma soltanto evitare",
    // Dutch, Swedish, Danish, Norwegian, Finnish
    "niet niets geen nooit zonder maar alleen behalve inte ej aldrig utan ingen inga inget men ikke aldri uten \
     uden ei älä älkää ilman mutta vain",
    // Polish, Czech, Hungarian, Romanian
    "nigdy bez żaden żadna żadne ale tylko oprócz není nikdy žádný žádná jen kromě nem nincs soha nélkül nu \
     niciodată fără dar doar",
    // Russian, Ukrainian, Greek
    "не нет ни никогда без нельзя кроме но только вместо ні ніколи крім але тільки δεν δε μη μην όχι ποτέ χωρίς \
     αλλά μόνο εκτός",
    // Turkish, Indonesian, Vietnamese
    "değil yok asla hiç hariç olmadan etme yapma ama sadece tidak tak jangan bukan tanpa kecuali belum tapi hanya \
     không đừng chưa chớ trừ nhưng",
    // Arabic, Persian, Hebrew
    "لا لن لم ليس ليست بدون دون عدم غير إلا لكن فقط نه نکن نکنید לא אל בלי ללא אין רק אבל",
    // Korean words that stand alone
    "안 못 말 아니 아닌",
];

/// Cues that count wherever they stand: scripts without spaces, scripts whose vowel signs split words, and signs.
const PARTS: [&str; 5] = [
    // Chinese: single characters, so that every word made of them counts
    "不 没 沒 别 別 勿 莫 无 無 非 未 否 禁 避免 除了 除外 之外 以外 拒绝 拒絕 停止 跳过 跳過 忽略 取消 只 但 而是 改为 改為 改成 反而",
    // Japanese
    "ない なく なかっ なけれ ません ませぬ ずに せず するな やめ だめ ダメ ほか 除 避け だけ のみ ただし しかし",
    // Korean
    "않 말고 말아 말라 마세요 마라 마십시오 지마 없 아니 아닌 금지 제외 빼고 말것 못하 못해 안하 안해 대신 하지만 그러나",
    // Hindi, Thai
    "नहीं मत बिना सिवाय लेकिन ไม่ อย่า ห้าม ยกเว้น แต่",
    // Signs
    "🚫 ⛔ ❌ ✗ ✘ ✖ ¬ ≠",
];

/// The same, of two words.
const PAIRS: [&str; 3] = ["지 마", "말 것", "안 하"];

fn words() -> impl Iterator<Item = &'static str> {
    WORDS.into_iter().flat_map(str::split_whitespace)
}

fn parts() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().flat_map(str::split_whitespace).chain(PAIRS)
}

/// Whether a normalised text holds a cue, with or without its invisible characters.
pub(super) fn negates(normal: &str) -> bool {
    let invisible = CodePointMapData::<GeneralCategory>::new();
    let visible: String =
        normal.chars().filter(|character| invisible.get(*character) != GeneralCategory::Format).collect();
    holds_cue(&visible) || (visible != normal && holds_cue(normal))
}

fn holds_cue(normal: &str) -> bool {
    let unspaced = unspaced::NEGATIONS.into_iter().chain(unspaced::CONTRASTS);
    if parts().chain(unspaced).any(|part| normal.contains(part)) {
        return true;
    }
    let latin = phrase::latin(normal);
    let tokens = phrase::tokens(&latin);
    let own = phrase::NEGATIONS.into_iter().chain(phrase::CONTRASTS);
    let words: HashSet<&str> = words().chain(own).collect();
    phrase::contrasts(&latin)
        || tokens.iter().any(|token| words.contains(token.as_str()))
        || tokens.windows(2).any(is_split_negation)
}

/// `don t`, whatever stood between: a contraction with a sign that is no apostrophe.
fn is_split_negation(pair: &[String]) -> bool {
    matches!(pair, [word, end] if end == "t" && word.ends_with('n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::text::normalise_phrase;

    fn task_negates(task: &str) -> bool {
        negates(&normalise_phrase(task))
    }

    #[test]
    fn every_cue_is_written_as_tasks_are_compared() {
        for word in words() {
            assert_eq!(normalise_phrase(word), word);
            assert_eq!(phrase::tokens(&phrase::latin(word)), [word.to_owned()], "{word}");
            assert!(task_negates(&format!("draft {} article", word.to_uppercase())), "{word}");
        }
        for part in parts() {
            assert_eq!(normalise_phrase(part), part);
            assert!(task_negates(&format!("draft{part}article")), "{part}");
        }
    }

    #[test]
    fn what_the_contract_ignores_is_heard_here() {
        for task in [
            "cannot draft",
            "draft it, but, well",
            "n't never mind",
            "draft article, never",
            "not a b c d e f draft",
            "draft article (the good one), then don`t draft article",
            "draft article; I wouldn\u{2032}t",
            "do\u{200b} n\u{200b}ot draft",
            "写文章，之后不要写文章",
            "不要马上写文章",
            "draft article 不要",
            "文章を書かないで",
            "코드 리뷰 하지 마세요",
            "🚫 draft article",
            "no\u{ad}t draft",
        ] {
            assert!(task_negates(task), "{task}");
        }
    }

    #[test]
    fn plain_requests_hold_no_cue() {
        for task in [
            "review the pull request",
            "draft article",
            "please write documentation for the parser and add tests",
            "写文章",
            "审查代码",
            "コードレビューをお願い",
            "이 코드를 리뷰해줘",
            "schreibe den Artikel",
            "révise la demande",
        ] {
            assert!(!task_negates(task), "{task}");
        }
    }
}
