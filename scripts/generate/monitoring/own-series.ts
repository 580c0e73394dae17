/**
 * Names of controllers and of their queues, as a matcher. kube-controller-manager, cert-manager and every operator that is
 * built on controller-runtime export families of the same names.
 */
export const OWN_CONTROLLERS = '"endpointgroup|gpuinstance|marketplaceaccount|orphansweep"';

/** Series of the operator's own processes alone, for families that name nothing of ours: those of a target that says what it is. */
export function ofOperator(expr: string): string {
  return `${expr} and on (job, instance) gpu_rental_build_info{component="operator"}`;
}
