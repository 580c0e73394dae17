/** Where text goes; `columns` and `rows` are the size of a terminal. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The world a command runs in, so that a test can give another. */
export interface CommandContext {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** One option of a command, in commander's notation. */
export interface CommandOption {
  /** e.g. `-n, --namespace <name>`. */
  readonly flags: string;
  readonly description: string;
  readonly defaultValue?: string | boolean | readonly string[];
  /** Collects every use into a list. */
  readonly repeatable?: boolean;
  readonly choices?: readonly string[];
  readonly hidden?: boolean;
  /** Everything behind it is its value, options too; `--flag=word` is that one word. */
  readonly takesRest?: boolean;
  /** Whether an empty text means something. Any other option refuses it: a script's variable was not set. */
  readonly mayBeEmpty?: boolean;
  /** Heading in the help; `Options` if left out. */
  readonly group?: string;
}

/** One positional argument, in commander's notation. */
export interface CommandArgument {
  /** e.g. `<name>` or `[offer...]`. */
  readonly name: string;
  readonly description: string;
  /** Given behind `--` only. The last argument of a command. */
  readonly behindDashes?: boolean;
  /** As of an option. */
  readonly mayBeEmpty?: boolean;
}

/** Option values by camel-cased name, as commander parsed them. */
export type OptionValues = Readonly<Record<string, unknown>>;

export interface CommandInput {
  readonly args: readonly string[];
  readonly options: OptionValues;
}

/** Which shared options a command takes. `report`: as `output`, for a command that shows a thing in full and has no names to list. */
export type OptionSet = 'output' | 'report' | 'marketplace' | 'cluster';

/** What a command takes and does. Its name and summary are in its {@link CatalogEntry}. */
export interface Command {
  /** Shown in the help below the summary, which it does not repeat. */
  readonly description?: string;
  readonly examples?: readonly string[];
  readonly args?: readonly CommandArgument[];
  readonly options?: readonly CommandOption[];
  readonly optionSets?: readonly OptionSet[];
  /** Resolves to the exit code. Rejects when it fails: the error is printed, and sets the exit code. */
  run(input: CommandInput, context: CommandContext): Promise<number>;
}

/** A command in the catalogue: what help and completion show of it without loading it. */
export interface CatalogEntry {
  /** As typed: `operator`, `search offers`. */
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
