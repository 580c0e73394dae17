/** Returns a text that a POSIX shell reads as one word. */
export function shellQuoted(text: string): string {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns a line with which a POSIX shell runs a program with these words. The first word is always quoted, so that
 * the shell never reads it as an assignment, a keyword or an alias.
 */
export function shellCommand([program = '', ...words]: readonly string[]): string {
  return [`'${program.replaceAll("'", `'\\''`)}'`, ...words.map(shellQuoted)].join(' ');
}
