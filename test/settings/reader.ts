/** Error for invalid settings; each line names a variable or option and its valid values. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    // Where it was thrown says nothing to whoever wrote the setting, and test runners print it.
    this.stack = this.message;
  }
}

/** Settings of a user by name: the environment, or the options of a command. */
export type Given = Readonly<Record<string, string | undefined>>;

export const LARGEST_SEED = 2 ** 31 - 1;

/**
 * Strict reader of settings: an invalid value is a problem, never another value. All problems are reported together.
 */
export class SettingsReader {
  readonly problems: string[] = [];
  readonly #given: Given;

  constructor(given: Given) {
    this.#given = given;
  }

  oneOf<T extends string>(name: string, options: readonly T[]): T | undefined {
    const text = this.#text(name);
    const found = options.find((option) => option === text);
    if (text !== undefined && found === undefined)
      this.#wrong(name, text, `write one of ${options.join(', ')}`);
    return found;
  }

  /** Reads an integer within these bounds. */
  whole(name: string, least: number, most: number): number | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    return this.#wrong(name, text, `write a whole number from ${least} to ${most}`);
  }

  seed(name: string): number | undefined {
    return this.whole(name, 0, LARGEST_SEED);
  }

  positive(name: string): number | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (Number.isFinite(value) && value > 0) return value;
    return this.#wrong(name, text, 'write a number above 0, such as 3 or 0.5');
  }

  /** Throws a {@link SettingsError} where anything that was read meant nothing. */
  check(): void {
    if (this.problems.length > 0) throw new SettingsError(this.problems);
  }

  /** Returns the trimmed text. Empty counts as absent: make forwards unset variables. */
  #text(name: string): string | undefined {
    const text = this.#given[name]?.trim();
    return text === '' ? undefined : text;
  }

  #wrong(name: string, text: string, remedy: string): undefined {
    this.problems.push(`${name}=${text} means nothing here: ${remedy}`);
  }
}

/** Reads and checks settings that have no other checks. */
export function readStrictly<T>(given: Given, read: (reader: SettingsReader) => T): T {
  const reader = new SettingsReader(given);
  const settings = read(reader);
  reader.check();
  return settings;
}
