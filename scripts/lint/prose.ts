/** Words and phrases that texts for users avoid, with what to write instead: short sentences in plain technical English. */

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

const RULES: readonly Rule[] = [
  { pattern: /\b(some|any)body( else)?\b/, instead: 'a person, another client: the one who acts' },
  { pattern: /\bnobody\b/, instead: 'no object, no component: what does not act' },
  { pattern: /\bwhoever\b/, instead: 'everyone who, or the one who acts' },
  { pattern: /\b(is|are|was|were) told\b/, instead: 'is reported; or the component that reads it' },
  { pattern: /\bbills? on\b/, instead: 'keeps billing' },
  { pattern: /\blets? go of\b/, instead: 'removes, releases' },
  { pattern: /\banew\b/, instead: 'again' },
  { pattern: /\bshall\b/, instead: 'must, or the present tense' },
  { pattern: /\btak(e|es|en|ing) (it |them |\w+ )?away\b/, instead: 'remove, delete' },
  { pattern: /\b(the|our|their) definitions\b/, instead: 'CRDs' },
  { pattern: /\bstands (on|in|beside|behind|above|below|there|at|so)\b/, instead: 'is' },
  { pattern: /\b(is|are|were) wanted\b/, instead: 'is desired, is requested' },
  { pattern: /\bunclaimed\b/, instead: 'orphaned' },
  { pattern: /\bmend(s|ed)?\b/, instead: 'fix, repair' },
  { pattern: /\bdear(er|est)\b/, instead: 'more expensive' },
  { pattern: /\b(comes|came) to it\b/, instead: 'reconciles it' },
];

/** A refused phrase and its line. */
export interface ProseFinding {
  /** From 1. */
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/** Removes code: blocks, `spans` and the targets of links. */
const withoutCode = (text: string): string =>
  text
    .replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/`[^`\n]*`/g, '`')
    .replace(/\]\([^)\n]*\)/g, ']');

/** Returns the refused phrases of a Markdown or plain text. */
export function refusedProse(text: string): readonly ProseFinding[] {
  return withoutCode(text)
    .split('\n')
    .flatMap((line, at) =>
      RULES.flatMap(({ pattern, instead }) => {
        const found = new RegExp(pattern, 'i').exec(line)?.[0];
        return found === undefined ? [] : [{ line: at + 1, found, instead }];
      }),
    );
}
