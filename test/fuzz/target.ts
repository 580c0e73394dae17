/** Behaviour of a parser for an input, in words that distinguish it; undefined if coverage is enough. */
export type Behaviour = readonly string[] | undefined;

/** A parser of something that others write. */
export interface FuzzTarget {
  readonly name: string;
  /** Whole and right, to start from. */
  readonly seeds: readonly string[];
  /** Throws what no caller expects; what callers do expect is swallowed here. */
  readonly run: (text: string) => Behaviour | Promise<Behaviour>;
}

export type ErrorClass = abstract new (...args: never[]) => Error;

/** Throws again what is none of these: they are how a parser refuses. */
export function passOver(classes: readonly ErrorClass[], error: unknown): undefined {
  if (!classes.some((each) => error instanceof each)) throw error;
}

/** Lets errors of these classes pass. */
export function refusing(
  classes: readonly ErrorClass[],
  parse: (text: string) => Behaviour | Promise<Behaviour>,
): FuzzTarget['run'] {
  return async (text) => {
    try {
      return await parse(text);
    } catch (error) {
      return passOver(classes, error);
    }
  };
}

/** Runs a synchronous reader; only the expected refusal is caught. */
export function tryReading(refusal: ErrorClass, read: () => void): void {
  try {
    read();
  } catch (error) {
    passOver([refusal], error);
  }
}

/** Returns the parsed text; undefined if it is not JSON. */
export function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Passes on what is JSON; the rest is for targets that read text. */
export function json(parse: (value: unknown) => Behaviour): (text: string) => Behaviour {
  return (text) => {
    const value = jsonOrNothing(text);
    return value === undefined ? undefined : parse(value);
  };
}

/** Throws if a number is not a valid amount: negative, infinite or NaN. */
export function sane(value: number | undefined): void {
  if (value !== undefined && !(Number.isFinite(value) && value >= 0)) throw new Error(`${value} came out`);
}

/** Latest moment that a date can stand for, in milliseconds. */
const LAST_DATE = 8.64e15;

/** Throws if a field has an invalid number, or a time that no date represents. */
export function soundFields(fields: object, times: readonly string[] = []): void {
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'number') continue;
    if (!Number.isFinite(value)) throw new Error(`${name} is ${value}`);
    if (times.includes(name) && Math.abs(value) > LAST_DATE) throw new Error(`${name} is no date: ${value}`);
  }
}
