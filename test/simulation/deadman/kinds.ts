/** Events of a world: its cluster is erased for good, or troubles pass that may end no machine. */
export const DEADMAN_KINDS = ['erased', 'outages'] as const;
export type DeadmanKind = (typeof DEADMAN_KINDS)[number];
