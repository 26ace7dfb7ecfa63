"""DashScope, the native API of Alibaba Model Studio."""
