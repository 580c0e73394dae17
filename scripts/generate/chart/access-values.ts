import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** Values of access: permissions of the operator and of users, and the rules of admission. */
export const accessValues: ChartValues = {
  serviceAccount: group('ServiceAccount of the operator.', {
    create: value('', true, schemas.flag),
    name: value('Generated from the release name if empty.', '', schemas.text),
    annotations: value('', {}, schemas.stringMap),
  }),
  rbac: group('RBAC permissions.', {
    create: value('', true, schemas.flag),
    aggregate: value(
      'Add the kinds of this operator to the Kubernetes roles view, edit and admin. Ignored with `watchNamespaces`.',
      true,
      schemas.flag,
    ),
    serviceBinding: value(
      'Let service binding controllers read GpuInstances as provisioned services. Ignored with `watchNamespaces`.',
      true,
      schemas.flag,
    ),
  }),
  jobRelay: group('Pods with `gpu-rent job`, which run programs on rented machines for Jobs.', {
    namespaces: value(
      'Namespaces with a ServiceAccount, Role and RoleBinding `gpu-rent-job` for such Pods. Every user who can create Pods there can rent machines: add a SpendBudget.',
      [],
      { type: 'array', items: { type: 'string', minLength: 1 }, uniqueItems: true },
    ),
  }),
  admissionPolicies: group(
    'ValidatingAdmissionPolicies. They run in the API server, so no webhook can fail.',
    {
      render: value(
        '`auto` creates the policies unless `watchNamespaces` is set, because policies are cluster-scoped. `always` creates them in that case too, limited to those namespaces.',
        'auto',
        { type: 'string', enum: ['auto', 'always', 'never'] },
      ),
      breakGlassGroup: value(
        'User group that the policies exempt: kubectl --as=NAME --as-group=GROUP.',
        'gpurental.dev:break-glass',
        schemas.userGroup,
      ),
      protectRecords: value(
        'Only the operator may change rental intents, claims and other status, and remove its finalizers.',
        true,
        schemas.flag,
      ),
      protectAnnotation: value(
        'Refuse to delete objects that have the annotation gpurental.dev/protect.',
        true,
        schemas.flag,
      ),
      limitOperator: value(
        'Limit what stolen tokens can do, in every namespace: the ServiceAccount of the operator may write only its own Secrets, ConfigMaps, Services and EndpointSlices; that of the gateway may only wake groups.',
        true,
        schemas.flag,
      ),
      priceFloor: value(
        'Refuse a maxPricePerHour below the price of the running machine if `onPriceAbove: Replace` would then replace the machine.',
        true,
        schemas.flag,
      ),
      warnOfReplacement: value(
        'Warn about an edit that replaces the machine of a GpuInstance or workers of an EndpointGroup, because their disks are lost. The edit is accepted.',
        true,
        schemas.flag,
      ),
      warnOfBudget: value(
        'Warn about a GpuInstance or EndpointGroup that a SpendBudget of the namespace does not permit to rent. The object is accepted.',
        true,
        schemas.flag,
      ),
      warnWithoutLimits: value(
        'Warn about a MarketplaceAccount whose `limits` restrict neither spending nor the number of machines. The object is accepted.',
        true,
        schemas.flag,
      ),
    },
  ),
  inUseGuard: group(
    'While machines are rented, refuse to delete the CRDs, the identity of the installation, and the Deployment, ServiceAccount, RBAC objects and namespace of the operator.',
    {
      enabled: value(
        'Installed by the chart that installs the CRDs: this one, or gpu-rental-operator-crds.',
        true,
        schemas.flag,
      ),
    },
  ),
};
