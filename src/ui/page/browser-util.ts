/** Returns the text itself: a browser has no terminal that its sequences could control. In place of `node:util`. */
export function stripVTControlCharacters(text: string): string {
  return text;
}
