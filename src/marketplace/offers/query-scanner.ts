/** One `field operator value` of a query text, as it was written. */
export interface QueryTerm {
  readonly field: string;
  readonly operator: string;
  /** Text of the value, or of each entry of a list. */
  readonly value: string | readonly string[];
  /** Where the term begins, from 0. */
  readonly at: number;
}

/** Terms, or where and why the text cannot be read. */
export type ScannedQuery =
  | { readonly type: 'scanned'; readonly terms: readonly QueryTerm[] }
  | { readonly type: 'invalid'; readonly at: number; readonly message: string };

const SPACE = /\s*/y;
const FIELD = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR =
  /\s*(==|!=|>=|<=|=|>|<)\s*|\s+(not\s+eq|not\s+in|noteq|notin|neq|nin|gte|lte|eq|gt|lt|in)(?=[\s[])\s*/y;
const LIST = /\[([^\]]*)\]/y;
const QUOTED = /"([^"]*)"|'([^']*)'/y;
const BARE = /[^\s[\]"']+/y;

/** Splits a query text such as `num_gpus>=2 gpu_name in [RTX_4090,H100_SXM]` into its terms. */
export function scanQuery(text: string): ScannedQuery {
  const terms: QueryTerm[] = [];
  let position = skipSpace(text, 0);
  while (position < text.length) {
    const term = scanTerm(text, position);
    if (term.type === 'invalid') return term;
    terms.push(term.term);
    position = skipSpace(text, term.end);
  }
  return { type: 'scanned', terms };
}

type ScannedTerm =
  | { readonly type: 'term'; readonly term: QueryTerm; readonly end: number }
  | { readonly type: 'invalid'; readonly at: number; readonly message: string };

function scanTerm(text: string, at: number): ScannedTerm {
  const field = matchAt(FIELD, text, at);
  if (!field) return invalid(at, `a field name is expected at "${excerpt(text, at)}"`);
  const afterField = at + field[0].length;
  const operator = matchAt(OPERATOR, text, afterField);
  if (!operator) {
    return invalid(afterField, `an operator is expected after "${field[0]}", e.g. ${field[0]}>=1`);
  }
  const afterOperator = afterField + operator[0].length;
  const value = scanValue(text, afterOperator);
  if (!value)
    return invalid(afterOperator, `a value is expected after "${text.slice(at, afterOperator).trim()}"`);
  const word = (operator[1] ?? operator[2] ?? '').replace(/\s+/g, ' ');
  return {
    type: 'term',
    term: { field: field[0], operator: word, value: value.value, at },
    end: afterOperator + value.length,
  };
}

function scanValue(
  text: string,
  at: number,
): { value: string | readonly string[]; length: number } | undefined {
  const list = matchAt(LIST, text, at);
  if (list) return { value: listEntries(list[1] ?? ''), length: list[0].length };
  const quoted = matchAt(QUOTED, text, at);
  if (quoted) return { value: quoted[1] ?? quoted[2] ?? '', length: quoted[0].length };
  const bare = matchAt(BARE, text, at);
  return bare ? { value: bare[0], length: bare[0].length } : undefined;
}

function listEntries(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((entry) => entry !== '');
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skipSpace(text: string, at: number): number {
  return at + (matchAt(SPACE, text, at)?.[0].length ?? 0);
}

function excerpt(text: string, at: number): string {
  return text.slice(at, at + 20);
}

function invalid(at: number, message: string): { type: 'invalid'; at: number; message: string } {
  return { type: 'invalid', at, message };
}
