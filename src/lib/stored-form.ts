/** How an object is stored, if its status alone does not tell a writer all that it must keep. */
export interface StoredForm {
  /** The stored text differs from the one that this version writes, although it means the same. */
  readonly isOutdated: boolean;
  /** Keys that this version does not know; a writer keeps them. */
  readonly unknown?: Readonly<Record<string, unknown>>;
  /** A record that this version cannot use. */
  readonly problem?:
    | { readonly type: 'newer'; readonly version: number; readonly text: string }
    | { readonly type: 'unreadable' };
}

/** Not enumerated by JSON, but copied by a spread. */
const STORED: unique symbol = Symbol('stored form');

interface Marked {
  readonly [STORED]?: StoredForm;
}

/** The mark that {@link withStoredForm} set; undefined if the status tells all. */
export function storedForm(status: unknown): StoredForm | undefined {
  return typeof status === 'object' && status !== null ? (status as Marked)[STORED] : undefined;
}

/** The same status with the mark, or the status itself if there is nothing to mark. */
export function withStoredForm<S>(status: S, form: StoredForm | undefined): S {
  return form === undefined ? status : { ...status, [STORED]: form };
}
