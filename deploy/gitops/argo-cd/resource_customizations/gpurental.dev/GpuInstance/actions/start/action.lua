obj.spec.powerState = "Running"
return obj
