/** Output stream; `columns` and `rows` are the size of a terminal. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The environment of a command; a test passes another one. */
export interface CommandContext {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** An option of a command, in commander's notation. */
export interface CommandOption {
  /** e.g. `-n, --namespace <name>`. */
  readonly flags: string;
  readonly description: string;
  readonly defaultValue?: string | boolean | readonly string[];
  /** Collects all uses into a list. */
  readonly repeatable?: boolean;
  readonly choices?: readonly string[];
  readonly hidden?: boolean;
  /** True if all words after it are its value, including options; `--flag=word` has that one word. */
  readonly takesRest?: boolean;
  /** True if an empty text has a meaning. Any other option refuses it: a script's variable was not set. */
  readonly mayBeEmpty?: boolean;
  /** Heading in the help; `Options` if left out. */
  readonly group?: string;
}

/** A positional argument, in commander's notation. */
export interface CommandArgument {
  /** e.g. `<name>` or `[offer...]`. */
  readonly name: string;
  readonly description: string;
  /** True if it follows `--` only. The last argument of a command. */
  readonly behindDashes?: boolean;
  /** Like {@link CommandOption.mayBeEmpty}. */
  readonly mayBeEmpty?: boolean;
}

/** Option values by camel-cased name, as commander parsed them. */
export type OptionValues = Readonly<Record<string, unknown>>;

export interface CommandInput {
  readonly args: readonly string[];
  readonly options: OptionValues;
}

/**
 * Shared options of a command. `report` is like `output`, for a command that shows one thing in full and has no list of
 * names.
 */
export type OptionSet = 'output' | 'report' | 'marketplace' | 'cluster';

/** Arguments and action of a command. Its name and summary are in its {@link CatalogEntry}. */
export interface Command {
  /** Text of the help below the summary. */
  readonly description?: string;
  readonly examples?: readonly string[];
  readonly args?: readonly CommandArgument[];
  readonly options?: readonly CommandOption[];
  readonly optionSets?: readonly OptionSet[];
  /** Resolves to the exit code. Rejects when it fails: the error is printed, and sets the exit code. */
  run(input: CommandInput, context: CommandContext): Promise<number>;
}

/** A command in the catalogue: the part that help and completion show without loading it. */
export interface CatalogEntry {
  /** Name as typed: `operator`, `search offers`. */
  readonly name: string;
  readonly summary: string;
  /** Other names, e.g. `list instance`. */
  readonly aliases?: readonly string[];
  readonly load: () => Promise<Command>;
}

/** Commands under one heading of the help. */
export interface CatalogGroup {
  readonly heading: string;
  readonly entries: readonly CatalogEntry[];
}
