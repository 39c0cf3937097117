use super::*;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Numbers that look random and are always the same.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound.max(1)
    }

    /// A content of some kind: noise, few letters, long repetitions, or all of them one after the other.
    fn content(&mut self) -> Vec<u8> {
        let mut content = Vec::new();
        for _ in 0..=self.below(4) {
            let length = self.below(3000);
            let letters = 1 + self.below(256);
            match self.below(3) {
                0 => content.extend((0..length).map(|_| u8::try_from(self.below(letters)).unwrap())),
                1 => content.extend(vec![u8::try_from(letters - 1).unwrap(); length]),
                _ if content.is_empty() => {}
                _ => {
                    let distance = 1 + self.below(content.len());
                    (0..length).for_each(|_| content.push(content[content.len() - distance]));
                }
            }
        }
        content
    }
}

fn plain(data: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut output = vec![0xaa; size];
    Plain::new().inflate(data, &mut output).map(|()| output)
}

#[test]
fn what_a_writer_produces_comes_back_and_one_byte_more_or_less_does_not() {
    let mut draws = Draws(1);
    let mut kept = Plain::new();
    for _ in 0..100 {
        let content = draws.content();
        for level in [0, 1, 6, 9] {
            let mut data = compress_to_vec(&content, level);
            let mut output = vec![0; content.len()];
            let inflated = kept.inflate(&data, &mut output);
            // A code of a single distance is not complete: that is for the thorough decoder.
            assert_eq!(
                inflated.map(|()| &output),
                plain(&data, content.len()).as_ref(),
                "nothing is left of the last one"
            );
            assert!(inflated.is_none() || output == content);
            assert!(plain(&data, content.len() + 1).is_none());
            assert!(content.is_empty() || plain(&data, content.len() - 1).is_none());
            assert!(plain(&data[..data.len() - 1], content.len()).is_none(), "truncated");
            data.extend([0xff; 9]);
            assert_eq!(plain(&data, content.len()).is_some(), inflated.is_some(), "what comes after is not looked at");
        }
    }
}

#[test]
fn what_it_gives_for_a_damaged_stream_the_thorough_decoder_gives_too() {
    let mut draws = Draws(2);
    let (mut given, mut changed) = (0, 0);
    for _ in 0..500 {
        let content = draws.content();
        let level = u8::try_from(draws.below(10)).unwrap();
        let mut data = compress_to_vec(&content, level);
        for _ in 0..20 {
            let at = draws.below(data.len().min(200));
            let before = data[at];
            data[at] ^= 1 << draws.below(8);
            let thorough = decompress_to_vec_with_limit(&data, 40_000);
            let size = thorough.as_ref().map_or(content.len(), Vec::len);
            if let Some(output) = plain(&data, size) {
                given += 1;
                changed += usize::from(output != content);
                assert_eq!(Ok(output), thorough.map_err(|_| ()));
            }
            data[at] = before;
        }
    }
    assert!(given > 200 && changed > 200, "{given} {changed}");
}

#[test]
fn a_stream_of_random_bytes_gives_only_what_the_thorough_decoder_gives() {
    let mut draws = Draws(3);
    let mut given = 0;
    for _ in 0..20_000 {
        let length = 1 + draws.below(40);
        let data: Vec<u8> = (0..length).map(|_| u8::try_from(draws.below(256)).unwrap()).collect();
        let Ok(thorough) = decompress_to_vec_with_limit(&data, 1 << 17) else {
            assert!([0, 1, 2, 10].into_iter().all(|size| plain(&data, size).is_none()));
            continue;
        };
        let plain = plain(&data, thorough.len());
        given += usize::from(plain.is_some());
        assert!(plain.is_none_or(|output| output == thorough));
    }
    assert!(given > 10, "{given}");
}

#[test]
fn every_symbol_stands_for_what_the_format_says() {
    let base = |value: u32| (value >> 12, value >> 4 & 0xf);
    assert_eq!(
        [257, 264, 265, 284, 285].map(|at| base(LITERAL_VALUES[at])),
        [(3, 0), (10, 0), (11, 1), (227, 5), (258, 0)]
    );
    assert_eq!([0, 3, 4, 29].map(|at| base(DISTANCE_VALUES[at])), [(1, 0), (4, 0), (5, 1), (24_577, 13)]);
    assert_eq!([286, 287].map(|at| LITERAL_VALUES[at]), [UNKNOWN; 2]);
    assert_eq!([30, 31].map(|at| DISTANCE_VALUES[at]), [UNKNOWN; 2]);
    assert!((0..=255).all(|symbol| byte(LITERAL_VALUES[usize::from(symbol)]) == symbol));
}

#[test]
fn a_block_of_fixed_codes_is_understood_and_no_code_may_be_open() {
    // The letter a and the end, in fixed codes; then the same in a block of an unknown kind.
    assert_eq!(plain(&[0x4b, 0x04, 0x00], 1).as_deref(), Some(&b"a"[..]));
    assert!(plain(&[0x4f, 0x04, 0x00], 1).is_none());
    let arrange = |lengths: &[u8]| Code::<128, LENGTHS>::new().arrange(&padded(lengths).unwrap(), &LENGTH_VALUES);
    assert!(arrange(&[1, 2, 2]).is_some());
    assert!(arrange(&[1, 2, 0]).is_none(), "open");
    assert!(arrange(&[1, 1, 1]).is_none(), "too full");
    assert!(arrange(&[]).is_none());
}
