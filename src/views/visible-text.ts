/**
 * Characters that a reader cannot see or that change the order of others: controls, zero-width characters, marks and
 * overrides of direction.
 */
const UNSEEN = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Returns foreign text on one line, with a replacement character for each that cannot be seen. */
export function visibleLine(text: string): string {
  return text.replace(/\s*[\n\r\t]\s*/g, ' ').replace(UNSEEN, '\ufffd');
}

/** Returns foreign text with its line breaks and tabs, with a replacement character for each other one that cannot be seen. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(UNSEEN, (found) => (found === '\n' || found === '\t' ? found : '\ufffd'));
}
