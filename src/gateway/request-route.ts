/** Where a request goes: the group that serves it, and the path that its worker sees. */
export interface RequestRoute {
  /** `namespace/name`. */
  readonly group: string;
  /** With the query. */
  readonly path: string;
}

/** What of a request says for which group it is. */
export interface Addressed {
  /** With the query, as the client wrote it. */
  readonly path: string;
  /** The Host header, with or without a port. */
  readonly authority: string;
}

const PREFIX = /^\/([^/?#]+)\/([^/?#]+)(?=[/?#]|$)/;

/**
 * The group of a request: `/NAMESPACE/NAME/...`, whose prefix its worker does not see, else the host
 * `NAME.NAMESPACE` or `NAME.NAMESPACE.anything`, whose path is unchanged. Undefined where neither names a group
 * that `serves` knows.
 */
export function routeOf(
  { path, authority }: Addressed,
  serves: (group: string) => boolean,
): RequestRoute | undefined {
  const prefix = PREFIX.exec(path);
  if (prefix) {
    const group = `${prefix[1]}/${prefix[2]}`;
    if (serves(group)) return { group, path: rooted(path.slice(prefix[0].length)) };
  }
  const group = groupOfHost(authority);
  return group !== undefined && serves(group) ? { group, path } : undefined;
}

/** A path begins with a slash, also where the prefix was all of it. */
function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function groupOfHost(authority: string): string | undefined {
  const [name, namespace] = authority.toLowerCase().replace(/:\d+$/, '').split('.');
  return name && namespace ? `${namespace}/${name}` : undefined;
}
