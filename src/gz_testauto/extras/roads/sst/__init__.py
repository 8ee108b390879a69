"""Sampling-based kinodynamic planning on lanes with moving objects: SST, and SST that is informed
by domain knowledge.

Sources: Y. Li, Z. Littlefield, K. Bekris, "Asymptotically optimal sampling-based kinodynamic
planning", International Journal of Robotics Research 35(5), 2016. R. Smit, C. van der Ploeg, A.
Teerhuis, E. Silvas, "Informed sampling-based trajectory planner for automated driving in dynamic
urban environments", 2022.
"""
