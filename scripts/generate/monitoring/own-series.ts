/**
 * Names of controllers and of their queues, as a matcher. kube-controller-manager, cert-manager and every operator that is
 * built on controller-runtime export families of the same names.
 */
export const OWN_CONTROLLERS = '"endpointgroup|gpuinstance|marketplaceaccount|orphansweep|spendbudget"';

/**
 * Restricts a query to the operator's own processes, for families without an own prefix: by a target that identifies
 * itself.
 */
export function ofOperator(expr: string): string {
  return `${expr} and on (job, instance) gpu_rental_build_info{component="operator"}`;
}
