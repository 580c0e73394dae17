/** Loss that the end of a machine means, as events, plan and diff write it: `the data on its disk (32 GB) is lost`. */
export function diskLoss(diskGB: number | undefined): string {
  return `the data on its disk${diskGB === undefined ? '' : ` (${diskGB} GB)`} is lost`;
}

/**
 * Condition under which an edit ends a machine, in the words of plan, diff and the warning of `kubectl apply`.
 */
export const ONCE_RENTABLE = 'once another machine can be rented';
