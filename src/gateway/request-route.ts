/** Route of a request: its group, and the path that its worker sees. */
export interface RequestRoute {
  /** `namespace/name`. */
  readonly group: string;
  /** Path with query. */
  readonly path: string;
}

/** The part of a request that names its group. */
export interface Addressed {
  /** Path with query, as the client wrote it. */
  readonly path: string;
  /** The Host header, with or without a port. */
  readonly authority: string;
}

const PREFIX = /^\/([^/?#]+)\/([^/?#]+)(?=[/?#]|$)/;

/**
 * Returns the group of a request: `/NAMESPACE/NAME/...`, whose prefix its worker does not see, else the host
 * `NAME.NAMESPACE` or `NAME.NAMESPACE.anything`, whose path is unchanged. Undefined if neither names a group that
 * `serves` knows.
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

/** Returns the path with a leading slash, even if the prefix was all of it. */
function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function groupOfHost(authority: string): string | undefined {
  const [name, namespace] = authority.toLowerCase().replace(/:\d+$/, '').split('.');
  return name && namespace ? `${namespace}/${name}` : undefined;
}
