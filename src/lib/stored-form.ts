/** Facts about the stored form of an object that its status does not show and a writer must preserve. */
export interface StoredForm {
  /** True if the stored text differs from the text that this version writes for the same value. */
  readonly isOutdated: boolean;
  /** Keys that this version does not know; a writer preserves them. */
  readonly unknown?: Readonly<Record<string, unknown>>;
  /** Problem of a record that this version cannot use. */
  readonly problem?:
    | { readonly type: 'newer'; readonly version: number; readonly text: string }
    | { readonly type: 'unreadable' };
}

/** A symbol: JSON does not enumerate it, and a spread copies it. */
const STORED: unique symbol = Symbol('stored form');

interface Marked {
  readonly [STORED]?: StoredForm;
}

/** Returns the mark that {@link withStoredForm} set; undefined without one. */
export function storedForm(status: unknown): StoredForm | undefined {
  return typeof status === 'object' && status !== null ? (status as Marked)[STORED] : undefined;
}

/** Returns the version of a record that a newer operator wrote; undefined if this operator can read the record. */
export function newerVersion(status: unknown): number | undefined {
  const problem = storedForm(status)?.problem;
  return problem?.type === 'newer' ? problem.version : undefined;
}

/** Returns the status with the mark, or the status itself if there is nothing to mark. */
export function withStoredForm<S>(status: S, form: StoredForm | undefined): S {
  return form === undefined ? status : { ...status, [STORED]: form };
}
