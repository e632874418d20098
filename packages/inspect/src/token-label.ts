// Tokens as labels: of one line, and with what cannot be shown replaced.

/**
 * A token that can stand in a line of text or XML: control characters become their pictures (a line feed ␊), and what
 * would turn the order of its neighbours around, or is no character, becomes �. Maps do this to their labels themselves.
 *
 * @example
 * printable('two\nlines'); // 'two␊lines'
 */
export function printable(token: string): string {
  return token
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029\ufffe\uffff]/gu, (letter) => picture(letter));
}

/** A token as letters of one column each: others would move what stands beside them. */
export function narrowLetters(token: string): string[] {
  return [...printable(token)].map((letter) => (isNarrow(letter) ? letter : '?'));
}

/** Columns a letter takes where all are equally wide: 2 for emoji and East Asian writing, 0 for a mark. */
export function columnsOf(letter: string): number {
  if (/[\p{M}\p{Cf}]/u.test(letter)) return 0;
  return wide.test(letter) ? 2 : 1;
}

/** Unicode's East Asian Width W and F (Standard Annex 11), in whole blocks. */
const wide =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

const isNarrow = (letter: string) => columnsOf(letter) === 1 && !rightToLeft.test(letter);

function picture(letter: string): string {
  const code = letter.codePointAt(0)!;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
