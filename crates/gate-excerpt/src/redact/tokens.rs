//! Tokens that say themselves what they are, by the prefix that their issuer gives them.

use std::ops::Range;

use super::class::{Class, looks_random};

/// A prefix, and what must follow it.
pub(super) struct Token {
    pub(super) prefix: &'static str,
    class: Class,
    /// Bytes of the class after the prefix.
    bytes_min: usize,
    /// More of them than this, and it is something else.
    bytes_max: usize,
    /// Whether words could follow the prefix, too: then letters and digits must be mixed.
    is_mixed: bool,
}

const fn token(prefix: &'static str, class: Class, bytes_min: usize) -> Token {
    Token { prefix, class, bytes_min, bytes_max: usize::MAX, is_mixed: false }
}

const fn exact(prefix: &'static str, class: Class, bytes: usize) -> Token {
    Token { prefix, class, bytes_min: bytes, bytes_max: bytes, is_mixed: false }
}

const fn mixed(prefix: &'static str, class: Class, bytes_min: usize) -> Token {
    Token { prefix, class, bytes_min, bytes_max: usize::MAX, is_mixed: true }
}

pub(super) const TOKENS: &[Token] = {
    use Class::{Alphanumeric, Dashed, Dotted, Hex, Upper, Word};
    &[
        // Donegate's own keys.
        exact("dg_", Alphanumeric, 38),
        // Amazon.
        exact("AKIA", Upper, 16),
        exact("ASIA", Upper, 16),
        exact("ABIA", Upper, 16),
        exact("ACCA", Upper, 16),
        // GitHub: nothing else begins so, and one that is cut has less than its 36.
        token("ghp_", Word, 12),
        token("gho_", Word, 12),
        token("ghu_", Word, 12),
        token("ghs_", Word, 12),
        token("ghr_", Word, 12),
        token("github_pat_", Word, 12),
        // GitLab.
        mixed("glpat-", Dotted, 20),
        mixed("gldt-", Dotted, 20),
        mixed("glrt-", Dotted, 20),
        mixed("glrtr-", Dotted, 20),
        mixed("glcbt-", Dotted, 20),
        mixed("glptt-", Dotted, 20),
        mixed("glft-", Dotted, 20),
        mixed("glimt-", Dotted, 20),
        mixed("glagent-", Dotted, 20),
        mixed("gloas-", Dotted, 20),
        mixed("glsoat-", Dotted, 20),
        mixed("glffct-", Dotted, 20),
        // Registries of packages and images.
        exact("npm_", Alphanumeric, 36),
        token("pypi-AgE", Dashed, 40),
        token("rubygems_", Hex, 48),
        Token { is_mixed: true, ..exact("cio", Alphanumeric, 32) },
        token("dckr_pat_", Dashed, 20),
        token("dckr_oat_", Dashed, 20),
        // Google.
        token("AIza", Dashed, 35),
        token("ya29.", Dashed, 20),
        token("GOCSPX-", Dashed, 28),
        // Models.
        mixed("sk-", Dashed, 20),
        mixed("sk-ant-", Dashed, 20),
        mixed("gsk_", Alphanumeric, 40),
        mixed("xai-", Alphanumeric, 60),
        mixed("pplx-", Alphanumeric, 40),
        mixed("r8_", Alphanumeric, 36),
        token("hf_", Alphanumeric, 34),
        // Chat and mail.
        mixed("xoxa-", Dashed, 10),
        mixed("xoxb-", Dashed, 10),
        mixed("xoxp-", Dashed, 10),
        mixed("xoxr-", Dashed, 10),
        mixed("xoxs-", Dashed, 10),
        mixed("xoxe-", Dashed, 10),
        mixed("xoxe.", Dotted, 20),
        mixed("xapp-", Dashed, 20),
        token("SG.", Dotted, 60),
        exact("key-", Hex, 32),
        // Payment and commerce.
        token("sk_live_", Alphanumeric, 10),
        token("sk_test_", Alphanumeric, 10),
        token("rk_live_", Alphanumeric, 10),
        token("rk_test_", Alphanumeric, 10),
        mixed("whsec_", Class::Token, 24),
        exact("shpat_", Hex, 32),
        exact("shpca_", Hex, 32),
        exact("shppa_", Hex, 32),
        exact("shpss_", Hex, 32),
        mixed("sq0atp-", Dashed, 20),
        mixed("sq0csp-", Dashed, 40),
        // Infrastructure and tools.
        exact("dop_v1_", Hex, 64),
        exact("doo_v1_", Hex, 64),
        exact("dor_v1_", Hex, 64),
        exact("dapi", Hex, 32),
        mixed("hvs.", Dashed, 24),
        mixed("hvb.", Dashed, 24),
        token("AGE-SECRET-KEY-1", Upper, 50),
        mixed("lin_api_", Alphanumeric, 32),
        mixed("ntn_", Alphanumeric, 40),
        mixed("figd_", Dashed, 40),
        mixed("glsa_", Word, 32),
        mixed("glc_", Class::Token, 40),
        mixed("sntrys_", Class::Token, 40),
        exact("sntryu_", Hex, 64),
        exact("sbp_", Hex, 40),
        exact("sqp_", Hex, 40),
        exact("squ_", Hex, 40),
        exact("pul-", Hex, 40),
        mixed("fm2_", Class::Token, 60),
        mixed("NRAK-", Upper, 27),
        mixed("PMAK-", Dashed, 50),
    ]
};

/// Of a token that was cut, after the prefix.
const CUT_BYTES_MIN: usize = 12;

fn is_ellipsis(text: &[u8]) -> bool {
    text.starts_with("…".as_bytes()) || text.starts_with(b"...")
}

impl Token {
    /// The token at this place; else the end of the run that is none.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Result<(Range<usize>, Class), usize> {
        let body = at + self.prefix.len();
        let before = at.checked_sub(1).map_or(b' ', |it| text[it]);
        let rest = text.get(body..).unwrap_or_default();
        if Class::Word.has(before) || !text[at..].starts_with(self.prefix.as_bytes()) {
            return Err(at);
        }
        let bytes = self.class.run(rest);
        let end = body + bytes;
        // What shows source cuts its lines: the rest of such a token tells enough of it.
        let is_cut = bytes >= CUT_BYTES_MIN && bytes < self.bytes_min && is_ellipsis(&text[end..]);
        let fits = is_cut || (self.bytes_min..=self.bytes_max).contains(&bytes);
        let ends =
            self.bytes_max == usize::MAX || !text.get(end).is_some_and(|it| Class::Word.has(*it));
        let value = &text[body..end];
        let is_random = !self.is_mixed
            || looks_random(value) && value.iter().filter(|it| it.is_ascii_digit()).count() >= 2;
        if fits && ends && is_random { Ok((at..end, self.class)) } else { Err(end) }
    }
}
