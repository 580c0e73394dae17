import { accessValues } from './access-values.ts';
import { gatewayValues } from './gateway-values.ts';
import { monitoringValues } from './monitoring-values.ts';
import { networkValues } from './network-values.ts';
import { operatorValues } from './operator-values.ts';
import { podValues } from './pod-values.ts';
import { simulatorValues } from './simulator-values.ts';
import { type ChartValues, group, listOrMap, schemas, value } from './value-tree.ts';

/** Every value of the chart gpu-rental-operator, in the order in which a person reads them. */
export const chartValues: ChartValues = {
  ...operatorValues,
  ...simulatorValues,
  ...accessValues,
  ...monitoringValues,
  ...gatewayValues,
  ...networkValues,
  ...podValues,
  extraObjects: value(
    'Additional objects, as a list or a map, in YAML or as text. The chart evaluates them with `tpl`.',
    [],
    listOrMap,
  ),
};

/** Every value of the chart gpu-rental-operator-crds. */
export const crdChartValues: ChartValues = {
  global: value('Values of a parent chart.', {}, { type: 'object' }),
  crds: group('Custom resource definitions.', {
    enabled: value('', true, schemas.flag),
    keep: value('Keep the CRDs when the chart is uninstalled.', true, schemas.flag),
  }),
  inUseGuard: group(
    'While machines are rented, refuse to delete the CRDs, the identity of the installation, and the Deployment, ServiceAccount, RBAC objects and namespace of the operator.',
    {
      enabled: value('', true, schemas.flag),
      operatorNamespaces: value(
        'Namespaces of operators. The chart creates a policy binding for each.',
        ['gpu-rental-system'],
        {
          type: 'array',
          minItems: 1,
          uniqueItems: true,
          items: { type: 'string', minLength: 1 },
        },
      ),
      breakGlassGroup: value(
        'User group that may delete anyway: kubectl --as=NAME --as-group=GROUP.',
        'gpurental.dev:break-glass',
        schemas.userGroup,
      ),
    },
  ),
  commonLabels: value('Labels of every object of the chart.', {}, schemas.stringMap),
};
