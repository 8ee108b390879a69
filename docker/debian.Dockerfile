# gz_testauto on Debian 12 with ROS 1 and Gazebo 11. In the checkout:
#   docker build -f docker/debian.Dockerfile -t gz_testauto .
#   docker run --rm -v "$PWD:/data" --user "$(id -u)" gz_testauto gz_testauto run example
FROM debian:12-slim AS build
ARG EXTRAS=completion,dask,learning,plot,simulator_comparison,trees
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      catkin cmake debian-archive-keyring g++ make mmdebstrap python3-actionlib python3-dev \
      python3-move-base-msgs python3-rosbag python3-rostest python3-tf2-ros python3-venv procps \
      ros-core-python-dev ros-move-base-msgs rosbash \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN /source/docker/install /opt/gz_testauto "$EXTRAS"

FROM debian:12-slim
ARG PACKAGES=""
# hadolint ignore=DL3008,SC2086
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      procps python3-actionlib python3-actionlib-msgs python3-diagnostic-msgs \
      python3-geometry-msgs python3-move-base-msgs python3-nav-msgs python3-rosbag \
      python3-rosgraph-msgs python3-rostest python3-sensor-msgs python3-std-msgs python3-std-srvs \
      python3-tf2-msgs python3-tf2-ros python3-trajectory-msgs python3-visualization-msgs rosbash \
      $PACKAGES \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 user
COPY --from=build /opt/gz_testauto /opt/gz_testauto
USER 1000
WORKDIR /data
ENTRYPOINT ["/opt/gz_testauto/entrypoint"]
CMD ["gz_testauto", "--help"]
